/** Jobs of private kinds: over HTTP only an admin sees and changes the jobs. */
import { expect, test } from 'vitest'
import { engineRoutes } from '../../src/http/routes/index.ts'
import { defineJob, doNotRetry, seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { listenTo } from './sse-client.ts'
import { doorWith } from './support.ts'

const run = (_: unknown, how: string) => {
  if (how === 'fail') throw doNotRetry(new Error(`a reason of ${how}`))
}
const statement = defineJob<string>({ kind: 'bank-statement', queue: 'bank', private: true, run })
const report = defineJob<string>({ kind: 'report', queue: 'bank', run })

/** Of each kind, a job that failed and a job that waits. */
async function twoKinds() {
  const door = await doorWith([statement, report])
  const token = async (role: 'viewer' | 'operator' | 'admin') =>
    (await door.engine.tokens.create({ user: role, role })).token
  const tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: await token('admin') }
  const failed = [await door.engine.enqueue(statement, 'fail'), await door.engine.enqueue(report, 'fail')]
  await door.run()
  const waiting = [await door.engine.enqueue(statement, 'wait'), await door.engine.enqueue(report, 'wait')]
  const ids = [failed, waiting].map(([first]) => first!.id)
  return { ...door, tokens, private: ids, public: [failed, waiting].map(([, second]) => second!.id) }
}

test('lists and causes of failures show the jobs to an admin alone', async () => {
  const { ask, tokens, ...t } = await twoKinds()
  const items = async (path: string, token: string) => (await ask('GET', path, { token })).body.items
  const kinds = async (path: string, token: string) =>
    (await items(path, token)).flatMap((each: { kind?: string; kinds?: string[] }) => each.kinds ?? each.kind).sort()
  for (const path of [
    '/api/v1/jobs?queue=bank',
    '/api/v1/jobs?state=failed',
    '/api/v1/jobs?state=waiting',
    '/api/v1/failures/causes',
  ]) {
    expect(await kinds(path, tokens.admin), path).toContain('bank-statement')
    for (const token of [tokens.viewer, tokens.operator]) {
      expect(await kinds(path, token), path).not.toContain('bank-statement')
      expect(await kinds(path, token), path).toContain('report')
    }
  }
  expect(await items('/api/v1/jobs?kind=bank-statement', tokens.viewer)).toEqual([])
  expect(t.private).toHaveLength(2)
})

test('every route with the id of a job answers as if the job did not exist, and no action on many jobs reaches it', async () => {
  const { ask, tokens, engine, ...t } = await twoKinds()
  const routes = engineRoutes.filter(({ path }) => path.startsWith('/api/v1/jobs/{id}'))
  expect(routes.length).toBeGreaterThanOrEqual(10)
  for (const { method, path, body } of routes) {
    const asked = async (id: string) => {
      const given = {
        token: tokens.operator,
        ...(body === undefined ? {} : { body: method === 'patch' ? { priority: 1 } : {} }),
      }
      const { status, body: said } = await ask(method.toUpperCase(), path.replace('{id}', id), given)
      return { status, said: JSON.stringify(said).replaceAll(id, 'ID') }
    }
    const unknown = await asked('987654321')
    expect(unknown.status, `${method} ${path}`).toBe(404)
    for (const id of t.private) expect(await asked(id), `${method} ${path}`).toEqual(unknown)
  }
  const [failed, waiting] = t.private
  for (const filter of [{ queue: 'bank' }, { kind: 'bank-statement' }, { ids: t.private }]) {
    const bulk = async (action: string, token: string, dry: boolean) =>
      (await ask('POST', `/api/v1/jobs/${action}`, { token, body: { ...filter, dry_run: dry } })).body.changed
    const others = 'queue' in filter ? 1 : 0
    expect(await bulk('cancel', tokens.operator, true)).toBe(others)
    expect(await bulk('retry', tokens.operator, true)).toBe(others)
    expect(await bulk('cancel', tokens.admin, true)).toBe(others + 1)
  }
  await ask('POST', '/api/v1/jobs/cancel', { token: tokens.operator, body: { queue: 'bank' } })
  expect(await Promise.all([failed!, waiting!].map(async id => (await engine.job(id))?.state))).toEqual([
    'failed',
    'waiting',
  ])
  expect((await ask('POST', `/api/v1/jobs/${waiting}/cancel`, { token: tokens.admin })).status).toBe(200)
})

test('a queue with a private kind shows its numbers to an admin alone, in every place', async () => {
  const { ask, tokens, ...t } = await twoKinds()
  await t.sample()
  await t.engine.queues.pause('bank')
  await t.engine.query(
    `insert into retoma.finding (verdict, subject, since, seen_at, facts)
     select 'starved', 'queue:bank/kind:' || kind, now(), now(), jsonb_build_object('queue', 'bank', 'kind', kind, 'version', 1, 'jobs', 1, 'noWorker', true)
     from unnest(array['bank-statement', 'report']) as k (kind)`,
  )
  const incidents = [
    ['queue.starved', 'queue:bank', { queue: 'bank', kinds: ['bank-statement'], jobs: 1 }],
    ['queue.starved', 'queue:mail', { queue: 'mail', kinds: ['report'], jobs: 1 }],
    ['jobs.stuck', 'jobs.stuck', { stuck: 11 }],
    ['job.poison', 'more', { more: 3 }],
  ]
  for (const [event, subject, facts] of incidents)
    await t.engine.query(
      `insert into retoma.incident (event, subject, severity, facts, since, found_at) values ($1, $2, 'warning', $3, now(), now())`,
      [event, subject, JSON.stringify(facts)],
    )
  const seenBy = async (token: string) => {
    const get = async (path: string) => (await ask('GET', path, { token })).body
    const [queues, stats, health] = [
      await get('/api/v1/queues'),
      await get('/api/v1/stats'),
      await get('/api/v1/stats/health'),
    ]
    return {
      queue: queues.items.find(({ queue }: { queue: string }) => queue === 'bank'),
      stats: stats.queues.find(({ queue }: { queue: string }) => queue === 'bank'),
      kinds: stats.kinds.map(({ kind }: { kind: string }) => kind),
      findings: stats.findings,
      problems: health.problems.map(({ event, subject }: Record<string, string>) => `${event} ${subject}`),
      history: (await get('/api/v1/stats/history')).queues.length,
      found: (await get('/api/v1/findings')).items.map(({ subject }: { subject: string }) => subject),
      incidents: (await get('/api/v1/incidents')).items.map(({ subject }: { subject: string }) => subject),
      explained: (await get('/api/v1/queues/bank/explain')).sentence,
      metrics: /retoma_jobs\{queue="bank"/.test(await get('/metrics')),
    }
  }
  const nothing = { ready: null, running: null, scheduled: null, stalled: null }
  for (const token of [tokens.viewer, tokens.operator])
    expect(await seenBy(token)).toMatchObject({
      queue: { paused: true, ...nothing },
      stats: { ...nothing, oldest_ready_seconds: null },
      kinds: ['report'],
      findings: { starved: 1 },
      problems: [],
      history: 0,
      found: ['queue:bank/kind:report'],
      incidents: ['queue:mail'],
      explained: 'queue "bank" is paused: nothing more of it starts',
      metrics: false,
    })
  expect(await seenBy(tokens.admin)).toMatchObject({
    queue: { paused: true, ready: 2 },
    stats: { ready: 2 },
    kinds: ['bank-statement', 'report'],
    findings: { starved: 2 },
    problems: ['queue.paused queue:bank'],
    history: 1,
    found: ['queue:bank/kind:bank-statement', 'queue:bank/kind:report'],
    incidents: ['more', 'jobs.stuck', 'queue:mail', 'queue:bank'],
    explained: expect.stringContaining('2 ready'),
    metrics: true,
  })
})

test('the stream of all events leaves out the events of the jobs, but for an admin', async () => {
  const t = await twoKinds()
  const listen = (token: string) =>
    listenTo('http://127.0.0.1:3000/api/v1/events?after=0', {
      fetch: request => {
        request.headers.set('authorization', `Bearer ${token}`)
        return t.fetch(request)
      },
    })
  const [viewer, admin] = [await listen(t.tokens.viewer), await listen(t.tokens.admin)]
  await t.engine.queues.pause('bank', { by: 'ana' })
  const jobs = ({ heard }: typeof viewer) => heard.flatMap(({ data }) => data.job_id ?? [])
  const isOver = ({ heard }: typeof viewer) => heard.some(({ event }) => event === 'action')
  await until(() => t.clock.advance(seconds(1)).then(() => isOver(viewer) && isOver(admin)))
  expect(jobs(admin)).toEqual([t.private[0], t.public[0]])
  expect(jobs(viewer)).toEqual([t.public[0]])
  viewer.close()
  await viewer.ended
})
