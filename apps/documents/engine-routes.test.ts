/**
 * The routes of the engine show a viewer and an operator nothing of another user's documents and syncs: no id, no name, no group of the
 * user; and no action of an operator reaches them.
 */
import { minutes, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { routesOf } from '../../src/http/app.ts'
import type { Route } from '../../src/http/index.ts'
import { listenTo } from '../../test/http/sse-client.ts'
import { sqlOn } from '../../test/support/application.ts'
import { gate, timePasses, until } from '../../test/support/engine.ts'
import { documentsDoor } from './test/door.ts'

/**
 * Of Bia: a document that is DONE, one that waits, one whose attempt runs for too long and blocks the loop of its worker,
 * a crash report of one, and a sync that waits. Job ids are large, so that no other number is equal to one.
 */
async function busyBia() {
  const [begun, open] = [gate(), gate()]
  const slow = { now: false }
  const t = await documentsDoor({
    async draw() {
      if (!slow.now) return null
      begun.open()
      await open.passed
      return null
    },
  })
  // A held attempt would hold up the end of the test.
  onTestFinished(() => open.open())
  const sql = await sqlOn(t)
  await sql(`select setval(pg_get_serial_sequence('retoma.job', 'id'), 7777000000)`)
  const token = async (user: string, role: 'viewer' | 'operator' | 'admin') =>
    (await t.engine.tokens.create({ user, role })).token
  const bia = await token('bia', 'operator')
  const ids = [await t.send({ token: bia, name: 'exame-de-bia.pdf' })]
  await t.work()
  slow.now = true
  ids.push(await t.send({ token: bia, name: 'lento-de-bia.pdf' }))
  t.run().catch(() => {})
  await begun.passed
  await t.clock.advance(seconds(50))
  ids.push(await t.send({ token: bia, name: 'espera-de-bia.pdf' }))
  ids.push((await t.ask('POST', '/api/open-finance/sync', { token: bia, body: {} })).body.id)
  await t.tick()
  await t.sample()
  const jobs = await sql<{ id: string; group: string | null; state: string }>(
    `select id::text, group_key as group, state from retoma.job where kind in ('process-document', 'open-finance-sync') order by id`,
  )
  const runs = jobs.find(({ state }) => state === 'running')!.id
  await sql(
    `update retoma.worker set blocked_since = heartbeat_at, blocked_job = $1, blocked_attempt = 1, blocked_stack = 'at lento-de-bia.pdf'
     where id = (select worker_id from retoma.job where id = $1)`,
    [runs],
  )
  await t.tick()
  await sql(
    `insert into retoma.incident (event, subject, severity, facts, since, found_at) values ('job.poison', 'job:' || $1, 'warning',
       jsonb_build_object('job', $1::text, 'kind', 'process-document', 'queue', 'documents', 'message', 'exame-de-bia.pdf'), now(), now())`,
    [runs],
  )
  const told = [...ids, ...jobs.map(({ id }) => id), ...jobs.flatMap(({ group }) => group ?? []), 'de-bia', 'bia']
  return { ...t, sql, token, jobs, ids, told: [...new Set(told)] }
}

type Busy = Awaited<ReturnType<typeof busyBia>>

/** Bodies that the routes accept, and that reach as many rows as possible. */
const bodies: Record<string, unknown> = {
  '/api/v1/jobs': { kind: 'process-document', input: {} },
  '/api/v1/jobs/cancel': { queue: 'documents' },
  '/api/v1/jobs/retry': { queue: 'documents' },
  '/api/v1/jobs/{id}': { priority: 1 },
  '/api/v1/jobs/{id}/skip': { reason: 'x' },
  '/api/v1/batches': { name: 'none', items: [] },
  '/api/v1/batches/{id}/priority': { priority: 1 },
  '/api/v1/batches/{id}/items/{item}/skip': { reason: 'x' },
  '/api/v1/queues/{name}/limits': { concurrency: 50 },
}

/** Paths that name every job, document, queue, guard and schedule. */
function pathsOf({ path, method }: Route, t: Busy): string[] {
  const names = ['documents', 'sync', 'follow_document_jobs', 'tidy_documents', 'pluggy']
  const ids = [...t.jobs.map(({ id }) => id), ...t.ids]
  const values = path.includes('{name}') ? names : path.includes('{id}') ? ids : ['']
  const queries =
    method === 'get' && path === '/api/v1/jobs' ? ['', '?queue=documents', '?queue=sync&state=waiting'] : ['']
  return values.flatMap(value =>
    queries.map(query => path.replace(/\{(name|id)\}/, value).replace(/\{\w+\}/g, '1') + query),
  )
}

test('no engine route names a document, a sync, their jobs or their user to another viewer or operator, and no action reaches them', async () => {
  const t = await busyBia()
  // Streams end with the client; the next test follows the stream of all events.
  const routes = routesOf({}).filter(
    ({ role, path }) => (role === 'viewer' || role === 'operator') && !path.endsWith('/events'),
  )
  expect(routes.length).toBeGreaterThan(40)
  const before = await t.sql(`select id, state, claim_rank, attempt from retoma.job where id = any ($1) order by id`, [
    t.jobs.map(({ id }) => id),
  ])
  const said = new Map<string, string>()
  for (const role of ['viewer', 'operator'] as const) {
    const token = await t.token(`rui-${role}`, role)
    const dry = role === 'operator' ? [{ dry_run: true }, {}] : [{}]
    for (const route of routes) {
      for (const path of pathsOf(route, t)) {
        for (const more of route.path.endsWith('/run') || route.path.endsWith('/clear') ? dry : [{}]) {
          const body = route.body === undefined ? {} : { body: { ...(bodies[route.path] as object), ...more } }
          const answer = await t.ask(route.method.toUpperCase(), path, { token, ...body })
          expect(answer.status, `${route.method} ${path}`).not.toBe(500)
          const asked = new Set([...path.split(/[/?=&]/)])
          const text = JSON.stringify(answer.body)
          for (const secret of t.told)
            if (!asked.has(secret)) expect(text, `${role} ${route.method} ${path}`).not.toContain(secret)
          said.set(`${role} ${route.method} ${path} ${JSON.stringify(more)}`, text)
        }
      }
    }
  }
  // The guard found the lost document, and said only how many.
  const kept = await t.sql(`select id, state, claim_rank, attempt from retoma.job where id = any ($1) order by id`, [
    t.jobs.map(({ id }) => id),
  ])
  expect(kept).toEqual(before)
  const cleared = said.get('operator post /api/v1/queues/documents/clear {"dry_run":true}')!
  expect(JSON.parse(cleared)).toEqual({ queue: 'documents', cancelled: 0, done: true })
})

test('the stream of all events shows an admin the jobs of documents and syncs, and shows another viewer and operator none of them', async () => {
  const t = await busyBia()
  const listen = async (role: 'viewer' | 'operator' | 'admin') => {
    const token = await t.token(`rui-${role}`, role)
    return listenTo('http://127.0.0.1:3000/api/v1/events?after=0', {
      fetch: request => {
        request.headers.set('authorization', `Bearer ${token}`)
        return t.fetch(request)
      },
    })
  }
  const [viewer, operator, admin] = [await listen('viewer'), await listen('operator'), await listen('admin')]
  // While the streams are open, the waiting sync and the waiting document of Bia are cancelled, and the document is erased.
  const bia = await t.token('bia', 'operator')
  for (const job of t.jobs.filter(({ state }) => state === 'waiting')) await t.engine.jobs.cancel(job.id, { by: 'bia' })
  expect((await t.ask('DELETE', `/api/documents/${t.ids[2]}`, { token: bia })).status).toBe(204)
  await t.engine.queues.pause('sync', { by: 'gil' })
  const all = [viewer, operator, admin]
  const isOver = ({ heard }: typeof viewer) => heard.some(({ data }) => JSON.stringify(data).includes('gil'))
  await until(() => t.clock.advance(seconds(1)).then(() => all.every(isOver)))
  const told = ({ heard }: typeof viewer) => t.told.filter(secret => JSON.stringify(heard).includes(secret))
  // The document whose attempt runs for too long, and the cancelled sync.
  expect(told(admin)).toEqual(expect.arrayContaining([t.jobs[1]!.id, t.jobs.at(-1)!.id]))
  expect(told(viewer)).toEqual([])
  expect(told(operator)).toEqual([])
  for (const stream of all) stream.close()
  await Promise.all(all.map(({ ended }) => ended))
})

test('an operator who runs the guard of the documents learns neither which documents were lost nor how many, and an admin learns both', async () => {
  const t = await busyBia()
  await t.clock.advance(minutes(11))
  const run = async (role: 'operator' | 'admin', dry: boolean) => {
    const given = { token: await t.token(`rui-${role}-${dry}`, role), body: { dry_run: dry } }
    return (await t.ask('POST', '/api/v1/guards/documents/run', given)).body
  }
  expect(await run('operator', true)).toMatchObject({ marked: null, jobs: null, private: true, rows: [], refused: [] })
  expect(await run('admin', true)).toMatchObject({ marked: 1, rows: [{ key: { id: t.ids[1] } }] })
  expect(await run('operator', false)).toMatchObject({ marked: null, rows: [] })
  const guards = async (role: 'viewer' | 'admin') =>
    (await t.ask('GET', '/api/v1/guards', { token: await t.token(`rui-${role}`, role) })).body.items
  expect(await guards('viewer')).toMatchObject([{ name: 'documents', last_marked: null, total: null }])
  expect(await guards('admin')).toMatchObject([{ name: 'documents', last_marked: 1, total: 1 }])
})

/** What changes by itself: ages, memory and delays of the processes. */
const ofProcesses = ['heartbeat_age_seconds', 'memory_bytes', 'loop_lag_ms', 'write_lag_ms', 'watchdog_lag_seconds']
const linesOfProcesses =
  /^(# |process_|nodejs_|retoma_process_|retoma_worker_(heartbeat|memory|loop|write)|retoma_(watchdog_lag|job_counts_age))/
const isInstant = /^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00)$/

/** An answer without what changes by itself. */
const steady = (body: unknown): string =>
  typeof body === 'string'
    ? body
        .split('\n')
        .filter(line => !linesOfProcesses.test(line))
        .join('\n')
    : JSON.stringify(body, (name, value) => {
        if (ofProcesses.includes(name)) return undefined
        return typeof value === 'string' && isInstant.test(value) ? 'an instant' : value
      })

test('every read of the engine answers a viewer and an operator the same before an upload and a sync of another user, and while both wait, run and have ended', async () => {
  const open = gate()
  let isBegun = false
  const t = await documentsDoor({
    async draw() {
      isBegun = true
      await open.passed
      return null
    },
  })
  onTestFinished(() => open.open())
  const token = async (user: string, role: 'viewer' | 'operator' | 'admin') =>
    (await t.engine.tokens.create({ user, role })).token
  const tokens = { viewer: await token('rui', 'viewer'), operator: await token('eva', 'operator') }
  const admin = await token('gil', 'admin')
  const bia = await token('bia', 'operator')
  const names = { queues: ['documents', 'sync'], schedules: ['follow_document_jobs', 'tidy_documents'] }
  const reads = routesOf({})
    .filter(
      ({ method, role, path }) =>
        method === 'get' && (role === 'viewer' || role === 'operator') && !path.endsWith('/events'),
    )
    .filter(({ path }) => /^\/(api\/v1|metrics)/.test(path) && !path.includes('{id}'))
    .flatMap(({ path }) => {
      const [, about] = /^\/api\/v1\/(queues|schedules)\/\{name\}/.exec(path) ?? []
      return about === undefined ? [path] : names[about as keyof typeof names].map(name => path.replace('{name}', name))
    })
  expect(reads.length).toBeGreaterThan(20)
  const readAs = async (token: string) => {
    const get = async (path: string) => [path, steady((await t.ask('GET', path, { token })).body)] as const
    const dryRun = async (path: string) =>
      [path, steady((await t.ask('POST', path, { token, body: { dry_run: true } })).body)] as const
    return Object.fromEntries(
      await Promise.all([
        ...[...reads, '/api/v1/stats/history?queue=documents', '/api/v1/jobs?queue=documents'].map(get),
        ...['/api/v1/guards/documents/run', '/api/v1/queues/documents/clear'].map(dryRun),
      ]),
    )
  }
  const read = () => Promise.all([readAs(tokens.viewer), readAs(tokens.operator)])
  const look = async () => {
    await t.tick()
    await t.sample()
  }
  const each = async (act: 'pause' | 'resume') => {
    for (const queue of names.queues) await t.engine.queues[act](queue, { by: 'gil' })
  }

  await using _worker = await t.engine.work({ queues: { documents: 4, sync: 4 } })
  await t.schedule()
  await until(() =>
    t.clock
      .advance(seconds(15))
      .then(look)
      .then(async () => {
        const { items } = await t.engine.jobs.list({ state: 'succeeded' })
        return items.length >= 2
      }),
  )
  const moving = await read()
  const ofAdmin = await readAs(admin)
  await each('pause')
  await t.clock.advance(seconds(15))
  await look()
  const paused = await read()

  const document = await t.send({ token: bia })
  const sync = (await t.ask('POST', '/api/open-finance/sync', { token: bia, body: {} })).body.id
  await t.clock.advance(seconds(15))
  await look()
  expect(await read()).toEqual(paused)
  await each('resume')
  await timePasses(t.clock, () => isBegun)
  await t.clock.advance(seconds(50))
  await look()
  expect(await read()).toEqual(moving)
  // The same test sees a difference where there is one: an admin sees the job.
  const differing = Object.entries(await readAs(admin)).filter(([path, answer]) => answer !== ofAdmin[path])
  expect(differing.map(([path]) => path)).toEqual(
    expect.arrayContaining(['/api/v1/queues', '/api/v1/stats', '/api/v1/stats/health', '/api/v1/workers', '/metrics']),
  )
  open.open()
  const isOver = async () =>
    (await t.read(document, { token: bia })).status === 'DONE' &&
    (await t.ask('GET', `/api/open-finance/syncs/${sync}`, { token: bia })).body.status === 'DONE'
  await until(() => t.clock.advance(seconds(15)).then(isOver))
  await look()
  expect(await read()).toEqual(moving)
})

test('an admin sees what the team does not see: findings, incidents, groups and the blocked worker name the job', async () => {
  const t = await busyBia()
  const token = await t.token('rui', 'admin')
  const paths = ['/api/v1/findings', '/api/v1/incidents', '/api/v1/workers', '/api/v1/jobs?queue=documents']
  const runs = t.jobs.find(({ state }) => state === 'running')!.id
  for (const path of paths) expect(JSON.stringify((await t.ask('GET', path, { token })).body), path).toContain(runs)
  const clear = { token, body: { dry_run: true } }
  expect((await t.ask('POST', '/api/v1/queues/documents/clear', clear)).body.cancelled).toBe(1)
})
