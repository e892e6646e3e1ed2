/** A worker that has nothing to run says so, once. */
import { expect, test } from 'vitest'
import { defineJob, type WorkOptions } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { liveEngine } from '../support/engine.ts'

const send = defineJob({ kind: 'send', queue: 'mail', run: () => 1 })

async function warnings(jobs: Parameters<typeof liveEngine>[0], options?: WorkOptions): Promise<string[]> {
  const said: string[] = []
  const log = { ...silentLog, child: () => silentLog, warn: (_: object, message: string) => void said.push(message) }
  const { engine } = await liveEngine(jobs, { log })
  const worker = await engine.work(options)
  await worker.stop()
  return said
}

test('a worker of an engine without jobs warns that it will run nothing', async () => {
  expect(await warnings([])).toEqual([expect.stringContaining('this worker serves no queue and will run nothing')])
  expect(await warnings([send], { queues: {} })).toEqual([expect.stringContaining('serves no queue')])
})

test('a worker of a queue that no job is in warns with the queue that was meant', async () => {
  expect(await warnings([send], { queues: { mial: 5 } })).toEqual([
    'this worker serves queue "mial", but no kind of this engine is in it: only an enqueue with this queue puts jobs there, did you mean "mail"?',
  ])
})

test('a worker that has something to run does not warn', async () => {
  expect(await warnings([send])).toEqual([])
  expect(await warnings([send], { queues: { mail: 1 } })).toEqual([])
})
