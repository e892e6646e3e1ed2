/** A deploy, a kill -9 of a worker and of PostgreSQL: the job continues after its saved step. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createEngine, defineJob, type Engine } from 'retoma'
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

interface Crash {
  crash(engine: Engine): Promise<void>
  after?(engine: Engine): Promise<void>
}

/** Runs a job whose first step is saved before the crash and whose second step comes after. */
async function throughACrash(databaseUrl: string, { crash, after }: Crash): Promise<void> {
  let goOn = () => {}
  const gate = new Promise<void>(resolve => {
    goOn = resolve
  })
  let runs = 0
  let isSaved = false
  const slow = defineJob({
    kind: 'slow',
    run: async ctx => {
      const at = await ctx.step('before', () => {
        runs++
        return 'before the crash'
      })
      isSaved = true
      await gate
      return [at, await ctx.step('after', () => 'after the crash')]
    },
  })
  await using engine = await createEngine({ databaseUrl, jobs: [slow], log: false })
  await using worker = await engine.work()
  const handle = await engine.enqueue(slow)
  while (!isSaved) await new Promise(resolve => setTimeout(resolve, 20))
  await crash(engine)
  goOn()
  assert.deepEqual(await handle.result(), ['before the crash', 'after the crash'])
  assert.deepEqual([runs, (await engine.job(handle.id))?.failures], [1, 0])
  await after?.(engine)
  await worker.stop()
}

test('after a crash of a process of PostgreSQL the same worker continues', async () => {
  const server = await startTestServer()
  await throughACrash(server.url, {
    // The server restarts after the death of any of its processes, and all connections end.
    async crash(engine) {
      const { rows } = await engine.query<{ pid: number }>('select pg_backend_pid() as pid')
      process.kill(rows[0]!.pid, 'SIGKILL')
    },
  })
  await server.stop()
})

test('after kill -9 of PostgreSQL itself the server starts on the same folder, and the same worker continues', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'app-'))
  process.env.RETOMA_DATA_DIR = folder
  const serverOf = async (engine: Engine) => {
    const { rows } = await engine.query<{ pid: number }>(
      `select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int as pid`,
    )
    return rows[0]!.pid
  }
  let killed = 0
  await throughACrash('embedded', {
    async crash(engine) {
      killed = await serverOf(engine)
      process.kill(killed, 'SIGKILL')
    },
    after: async engine => assert.notEqual(await serverOf(engine), killed),
  })
  await rm(folder, { recursive: true, force: true })
})
