/** A deploy, a kill -9 and a crash of PostgreSQL: the job continues after its saved step. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createEngine, defineJob } from 'retoma'
import { startTestServer } from 'retoma/testing'
import { exportJob } from './07-export.js'

const program = fileURLToPath(new URL('./07-export.js', import.meta.url))

function workerProcess(env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [program], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`after ${signal} the next worker continues after the saved step, and no failure is counted`, async () => {
    await using engine = await createEngine({ jobs: [exportJob] })
    const first = workerProcess({ HANGS: 'yes' })
    const handle = await engine.enqueue(exportJob)
    await once(first.stdout!, 'data')
    first.kill(signal)
    await once(first, 'exit')
    const released = await engine.job(handle.id)
    if (signal === 'SIGTERM') assert.deepEqual([released?.state, released?.failures], ['waiting', 0])

    const second = workerProcess()
    assert.deepEqual(await handle.result(), { preparedBy: first.pid, finishedBy: second.pid })
    assert.equal((await engine.job(handle.id))?.failures, 0)
    second.kill('SIGTERM')
    await once(second, 'exit')
  })
}

test('after a crash of PostgreSQL the same worker continues', async () => {
  const server = await startTestServer()
  let goOn = () => {}
  const gate = new Promise<void>(resolve => {
    goOn = resolve
  })
  const slow = defineJob({
    kind: 'slow',
    run: async ctx => {
      const at = await ctx.step('before', () => 'before the crash')
      await gate
      return [at, await ctx.step('after', () => 'after the crash')]
    },
  })
  await using engine = await createEngine({ databaseUrl: server.url, jobs: [slow], log: false })
  await using worker = await engine.work()
  const handle = await engine.enqueue(slow)
  while ((await engine.job(handle.id))?.state !== 'running') await new Promise(resolve => setTimeout(resolve, 20))
  // The server restarts after the death of any of its processes, and all connections end.
  const { rows } = await engine.query<{ pid: number }>('select pg_backend_pid() as pid')
  process.kill(rows[0]!.pid, 'SIGKILL')
  goOn()
  assert.deepEqual(await handle.result(), ['before the crash', 'after the crash'])
  await worker.stop()
  await engine.close()
  await server.stop()
})
