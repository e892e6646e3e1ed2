/** `engine.work({ signals: true })` in a process of its own: signals stop the worker, and the process ends as it would without Retoma. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { liveEngine, until } from '../support/engine.ts'

const long = defineJob<unknown>({ kind: 'long', run: () => {} })
const deaf = defineJob<unknown>({ kind: 'deaf', run: () => {} })
const guest = fileURLToPath(new URL('./signalled.mjs', import.meta.url))

/** A process with a worker that runs one job of this kind. */
async function working(kind: 'long' | 'deaf', own: 'alone' | 'listens') {
  const { engine, url } = await liveEngine([long, deaf])
  const child = spawn(process.execPath, [guest, url, own], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const { id } = await engine.enqueue(kind === 'long' ? long : deaf, null)
  await until(async () => (await engine.job(id))?.state === 'running')
  return { engine, child, ended, id }
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s releases the jobs, closes the engine and ends the process by the signal',
  async signal => {
    const { engine, child, ended, id } = await working('long', 'alone')
    child.kill(signal)
    expect(await ended).toEqual([null, signal])
    expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
    expect(await engine.workers.list()).toEqual([])
  },
)

test('a listener of the application decides how the process ends: the engine stays open for the application', async () => {
  const { engine, child, ended, id } = await working('long', 'listens')
  child.kill('SIGTERM')
  expect(await ended).toEqual([7, null])
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0 })
})

test('a second signal ends the process at once, though a handler does not end', async () => {
  const { child, ended } = await working('deaf', 'alone')
  let over = false
  void ended.then(() => {
    over = true
  })
  await until(() => {
    child.kill('SIGTERM')
    return over
  })
  // The first signal alone would have ended the process by SIGTERM, after the stop grace.
  expect(await ended).toEqual([1, null])
})

test('without the option a worker listens to no signal; with the option only until the worker has stopped', async () => {
  const { engine } = await liveEngine([long])
  const count = () => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT')
  const before = count()
  const plain = await engine.work()
  expect(count()).toBe(before)
  await plain.stop()
  const worker = await engine.work({ signals: true })
  expect(count()).toBe(before + 2)
  await worker.stop()
  await until(() => count() === before)
})
