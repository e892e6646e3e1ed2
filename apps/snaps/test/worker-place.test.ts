/** SNAPS_WORKER: snaps are processed in the process of the API, or in a process of their own. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, start } from '../../../test/cli/support.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { formOf } from './door.ts'
import { flat } from './images.ts'
import { liveSnaps } from './live.ts'

const built = fileURLToPath(new URL('../dist/index.js', import.meta.url))

/** `retoma up` with the snaps alone. */
async function up(args: readonly string[], environment: Record<string, string>) {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const folder = folderWith({}, 'file')
  mkdirSync(join(folder, 'tmp'))
  const config = `import { snaps } from '${built}'\nexport default { systems: [snaps()] }\n`
  writeFileSync(join(folder, 'retoma.config.mjs'), config)
  const env = { DATABASE_URL: url, PORT: '0', TMPDIR: join(folder, 'tmp'), LOG_LEVEL: 'error', ...environment }
  const program = start(['up', ...args], { folder, env })
  const said = await program.said('Ctrl-C')
  onTestFinished(async () => {
    program.tell('SIGTERM')
    await program.ended
  })
  const address = /http:\/\/[\d.:]+/.exec(said)![0]
  const { sql, read } = await liveSnaps({ url })
  return {
    program,
    sql,
    read,
    health: async () => (await fetch(`${address}/health`)).status,
    async send(bytes: Uint8Array): Promise<string> {
      const response = await fetch(`${address}/api/snaps`, { method: 'POST', body: formOf(bytes) })
      return ((await response.json()) as { id: string }).id
    },
  }
}

const workers = `select pid, queues from retoma.worker where dead_at is null order by queues -> 'snaps' nulls first, pid`

test('api, the default: the process of the API processes snaps itself', async () => {
  const t = await up(['--no-supervise'], {})
  const id = await t.send(await flat('red'))
  await until(async () => (await t.read(id)).status === 'DONE')
  expect(await t.sql(workers)).toMatchObject([{ queues: { snaps: availableParallelism() } }])
})

test('own: up starts a second process that processes snaps, and the API answers while that process is dead', async () => {
  const t = await up([], { SNAPS_WORKER: 'own' })
  await until(async () => (await t.sql(workers)).length === 2)
  const [api, other] = await t.sql<{ pid: number; queues: Record<string, number> }>(workers)
  expect(api!.queues).not.toHaveProperty('snaps')
  expect(other!.queues).toEqual({ snaps: availableParallelism() })
  const before = await t.send(await flat('red'))
  await until(async () => (await t.read(before)).status === 'DONE')
  process.kill(other!.pid, 'SIGKILL')
  expect(await t.health()).toBe(200)
  const after = await t.send(await flat('blue'))
  // The supervisor starts the process again.
  await until(async () => (await t.read(after)).status === 'DONE')
  expect((await t.sql(workers)).map(({ pid }) => pid)).toContain(api!.pid)
})

test('own, with --processes 2: the second process processes snaps, and there is no third', async () => {
  const t = await up(['--processes', '2'], { SNAPS_WORKER: 'own' })
  const id = await t.send(await flat('red'))
  await until(async () => (await t.read(id)).status === 'DONE')
  expect((await t.sql<{ queues: object }>(workers)).map(({ queues }) => queues)).toEqual([
    {},
    { snaps: availableParallelism() },
  ])
})

test.for<[string, string[], Record<string, string>]>([
  ['without the supervisor', ['--no-supervise'], {}],
  ['with --processes 1', ['--processes', '1'], {}],
  ['with RETOMA_PROCESSES=1', [], { RETOMA_PROCESSES: '1' }],
])('own, %s: up starts no second process, and says which queues need a worker', async ([, args, environment]) => {
  const t = await up(args, { SNAPS_WORKER: 'own', ...environment })
  expect(await t.program.noted('snaps')).toContain(
    'only worker processes run the jobs of: snaps; start retoma worker, or give --processes 2',
  )
})
