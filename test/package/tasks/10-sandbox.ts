/** A handler in a process of its own: an endless loop and a leak end that process, and the other jobs run on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine, defineJob, handlerOf, megabytes, seconds } from 'retoma'

const parse = defineJob({
  kind: 'parse',
  handler: handlerOf<typeof import('./10-handler.js')>(new URL('./10-handler.js', import.meta.url)),
  isolation: 'process',
  memory: megabytes(256),
  timeout: seconds(3),
  maxAttempts: 1,
})

test('a loop and a leak fail their own job only', async () => {
  await using engine = await createEngine({ jobs: [parse] })
  await using _worker = await engine.work({ queues: { default: 3 }, grace: seconds(1) })
  const [loops, leaks, fine] = await Promise.all([
    engine.enqueue(parse, { file: 'loops' }),
    engine.enqueue(parse, { file: 'leaks' }),
    engine.enqueue(parse, { file: 'fine' }),
  ])
  const { pages } = await fine.result()
  assert.equal(pages, 3)
  const looped = await engine.wait({ job: loops })
  assert.deepEqual([looped.state, looped.error?.code], ['failed', 'attempt_timeout'])
  const leaked = await engine.wait({ job: leaks })
  assert.equal(leaked.state, 'failed')
  assert.match(leaked.error?.message ?? '', /256 MB/)
})
