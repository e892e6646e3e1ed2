/** Workers killed with SIGKILL, as the README promises: the instants in the database are the evidence. */
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { never, ok } from '../../apps/classifier/test/behaviours.ts'
import { openRouterServer } from '../../apps/classifier/test/openrouter-server.ts'
import { createEngine, defineJob } from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, classifierPackage, folderWith, kill, type Program, processesIn, start } from './support.ts'

const config = `import { defineConfig, defineJob } from 'retoma'
const once = defineJob({
  kind: 'once',
  async run(ctx) {
    if (ctx.attempt > 1) return 'again'
    await ctx.progress({ note: 'begun' })
    await new Promise(() => {})
  },
})
export default defineConfig({ jobs: [once] })
`
const withClassifier = `import { classifier } from '${classifierPackage}'
${config.replace('{ jobs: [once] }', '{ jobs: [once], systems: [classifier()] }')}`
const once = defineJob<null>({ kind: 'once', run: () => {} })

const atEnd: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const each of atEnd.reverse()) await each()
})

const programs: Program[] = []
afterEach(async () => {
  for (const each of programs.splice(0)) {
    each.tell('SIGTERM')
    await each.ended
  }
})

function started(args: string[], at: Parameters<typeof start>[1]): Program {
  const program = start(args, at)
  programs.push(program)
  return program
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  atEnd.push(() => client.end().catch(() => {}))
  return client
}

/** Workers in the order they began, and when; milliseconds since 1970. */
async function workersIn(client: pg.Client) {
  const ms = (column: string) => `extract(epoch from ${column})::float8 * 1000 as ${column}`
  const columns = ['started_at', 'heartbeat_at', 'suspected_at', 'dead_at'].map(ms).join(', ')
  const { rows } = await client.query(
    `select id, pid, crash_report, ${columns} from retoma.worker w order by w.started_at`,
  )
  return rows as { id: string; pid: number; crash_report: { why: string; signal: string | null } | null; started_at: number; heartbeat_at: number; suspected_at: number | null; dead_at: number | null }[] // biome-ignore format: a row
}

/** When each job was taken from its dead worker. */
async function recoveredAt(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query(
    `select extract(epoch from at)::float8 * 1000 as at from retoma.failure where failure_type = 'orphan' order by at`,
  )
  return rows.map(({ at }) => at)
}

async function nowIn(client: pg.Client): Promise<number> {
  const { rows } = await client.query('select extract(epoch from clock_timestamp())::float8 * 1000 as now')
  return rows[0].now
}

async function databaseAndEngine() {
  const { url, drop } = await migratedDatabase()
  atEnd.push(drop)
  const engine = await createEngine({ databaseUrl: url, jobs: [once] })
  atEnd.push(() => engine.close())
  return { url, engine, client: await connected(url) }
}

/** It waits for 20 s and more: while it does, the other tests are played. */
let found: ReturnType<typeof killWithoutSupervisor>
beforeAll(() => {
  found = killWithoutSupervisor()
  found.catch(() => {})
})

async function killWithoutSupervisor() {
  const { url, engine, client } = await databaseAndEngine()
  engine.watch()
  const checks = new Set<number>()
  const checked = async () => {
    const { rows } = await client.query(
      `select extract(epoch from at)::float8 * 1000 as at from retoma.periodic_lease where name = 'watchdog' and isfinite(at)`,
    )
    if (rows[0] !== undefined) checks.add(rows[0].at)
    return checks.size
  }
  // The watchdog starts before the worker, so only the heartbeat reveals the dead worker.
  await until(async () => (await checked()) > 0)
  const folder = folderWith({ 'retoma.config.ts': config }, 'file')
  const worker = start(['worker', '--no-supervise'], { folder, env: { DATABASE_URL: url } })
  await worker.said('Ctrl-C')
  const { id } = await engine.enqueue(once, null)
  await until(async () => (await engine.job(id))?.progress != null)
  worker.tell('SIGKILL')
  await worker.ended
  await until(async () => (await checked()) > 0 && (await recoveredAt(client)).length > 0)
  const [dead] = await workersIn(client)
  const [recovered] = await recoveredAt(client)
  return { dead: dead!, recovered: recovered!, checks: [...checks].sort((a, b) => a - b), job: await engine.job(id) }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = systemClock.elapsed() + 120_000
  while (!(await condition())) {
    if (systemClock.elapsed() > deadline) throw new Error('not within two minutes')
    await systemClock.sleep(250)
  }
}

test('with a supervisor its jobs are back before its successor begins: about a second, not 20', async () => {
  const { url, engine, client } = await databaseAndEngine()
  const begun = systemClock.elapsed()
  const worker = started(['worker'], {
    folder: folderWith({ 'retoma.config.ts': config }),
    env: { DATABASE_URL: url },
  })
  await worker.said('Ctrl-C')
  const oneStartMs = systemClock.elapsed() - begun
  const { id } = await engine.enqueue(once, null)
  // A running job may be claimed and not begun: a kill at that instant is no restart of the job.
  await expect.poll(async () => (await engine.job(id))?.progress, { timeout: 60_000 }).toMatchObject({ note: 'begun' })
  const pid = (await workersIn(client))[0]!.pid
  const killedAt = await nowIn(client)
  process.kill(pid, 'SIGKILL')
  expect(await engine.wait({ job: id })).toMatchObject({ result: 'again', restarts: 1, failures: 0, crashes: 0 })

  const [dead, next] = await workersIn(client)
  expect(dead).toMatchObject({ crash_report: { signal: 'SIGKILL' }, suspected_at: null })
  const [recovered] = await recoveredAt(client)
  expect(recovered!).toBeLessThanOrEqual(next!.started_at)
  // It takes the supervisor's pause of 0.2 s and one start of a process, which this machine has just shown.
  expect(recovered! - killedAt).toBeLessThanOrEqual(200 + 3 * oneStartMs + 1000)
})

test.each([
  ['its database lives', false],
  ['its database is killed too', true],
])('everything of an up, supervisor too, and %s: the next up goes on at once, and says so', async (_, database) => {
  const ai = await openRouterServer()
  atEnd.push(() => ai.close())
  ai.behave(never())
  const folder = folderWith({
    'retoma.config.ts': withClassifier,
    '.env': `PORT=0\nOPENROUTER_API_KEY=${ai.key}\nOPENROUTER_BASE_URL=${ai.baseUrl}\n`,
  })
  const up = start(['up', '--json'], { folder })
  const { address } = JSON.parse(await up.said('}\n'))
  const post = async (path: string, body: object) => {
    const response = await fetch(address + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as { id: string }
  }
  const { id: job } = await answer<{ id: string }>(['jobs', 'enqueue', 'once'], { folder })
  const projeto = await post('/projetos', { nome: 'P', categorias: ['Contrato', 'Nota'] })
  const documentos = [{ codigo: 'a', texto: 'um contrato' }]
  const execucao = await post('/execucoes', { projeto_id: projeto.id, documentos })
  const url = `postgresql://retoma@localhost/retoma?host=${encodeURIComponent(join(folder, '.retoma', 'socket'))}`
  const running = async (client: pg.Client) =>
    (await client.query(`select count(*)::int as n from retoma.job where state = 'running'`)).rows[0].n
  const first = await connected(url)
  await expect.poll(() => running(first), { timeout: 60_000 }).toBe(2)
  await ai.called(1)

  up.tellAll('SIGKILL')
  if (database)
    // The end of the first process ends others before their turn.
    for (const each of processesIn(join(folder, '.retoma'))) kill(Number.parseInt(each, 10))
  await up.ended
  ai.behave(ok())

  const next = started(['up', '--json'], { folder })
  const again = JSON.parse(await next.said('}\n')) as { address: string }
  expect(await next.noted('ended without a stop')).toContain('its jobs are recovered at once')
  expect(await answer(['jobs', 'show', job], { folder })).toMatchObject({ restarts: 1, failures: 0, crashes: 0 })
  const client = await connected(url)
  const status = async () => {
    const response = await fetch(`${again.address}/execucoes/${execucao.id}/status-detalhado`)
    return ((await response.json()) as { status: string }).status
  }
  await expect.poll(status, { timeout: 60_000 }).toBe('CONCLUIDO')
  const state = async () => (await answer(['jobs', 'show', job], { folder })).state
  await expect.poll(state, { timeout: 60_000 }).toBe('succeeded')

  const [dead, living] = await workersIn(client)
  expect(dead).toMatchObject({
    crash_report: { why: expect.stringMatching(/^process \d+ ended without a stop$/) },
  })
  // Before its successor was there to run them, and so in time for its first claim.
  const recovered = await recoveredAt(client)
  expect(recovered).toHaveLength(2)
  for (const at of recovered) expect(at).toBeLessThanOrEqual(living!.started_at)
})

test('a worker without a supervisor is found 20 s after its last heartbeat, at the next check of a watchdog: within 25 s', async () => {
  const { dead, recovered, checks, job } = await found
  const { heartbeat_at, dead_at, crash_report } = dead
  const silentMs = dead_at! - heartbeat_at
  expect(crash_report).toBe(null)
  expect(silentMs).toBeGreaterThanOrEqual(20_000)
  // A check suspects after 10 s of silence, a check declares dead once the suspicion is 10 s old. Checks are 5 s apart, or as far apart as this machine made them.
  const furthest = Math.max(...checks.slice(1).map((each, index) => each - checks[index]!))
  expect(silentMs).toBeLessThanOrEqual(20_000 + Math.max(furthest, 5000) + 1000)
  expect(recovered - dead_at!).toBeLessThan(5000)
  expect(job).toMatchObject({ state: 'waiting', restarts: 1, failures: 0, crashes: 0 })
}, 180_000)
