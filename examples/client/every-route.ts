/**
 * Requests every JSON route once for the good answer and once for each refusal. The table's type comes from api.ts: a
 * route without a line here does not compile. Prints a line of JSON for each answer. For a server with the kinds, batches
 * and tokens of ../every-route.test.ts.
 */
import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const { RETOMA_URL: baseUrl = '', CRON_SECRET: secret = '', STALLED_JOBS = '' } = process.env
const [stalled = '', stalledToo = ''] = STALLED_JOBS.split(',')
const tokens = JSON.parse(process.env.RETOMA_TOKENS ?? '{}') as Record<'viewer' | 'operator' | 'admin', string>
const clientOf = (token?: string) =>
  createClient<paths>({ baseUrl, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
const retoma = clientOf(tokens.admin)

type Methods = 'get' | 'post' | 'put' | 'patch' | 'delete'
type Answers<Operation> = Operation extends { responses: { 200: { content: infer Content } } } ? keyof Content : 'none'
/** Such as 'GET /api/v1/jobs/{id}': all but streams, pages and other text. */
type JsonRoute = {
  [Path in keyof paths & string]: {
    [Method in Methods]: paths[Path][Method] extends { responses: object }
      ? Answers<paths[Path][Method]> extends 'application/json' | 'none'
        ? `${Uppercase<Method>} ${Path}`
        : never
      : never
  }[Methods]
}[keyof paths & string]

interface Answer {
  response: Response
  error?: unknown
}

interface Line {
  good(): Promise<Answer>
  /** A request which the route refuses with 409, if the document lists 409. */
  wrongState?(): Promise<Answer>
  /** A valid body, if the route needs a body. */
  body?: object
}

const found = <Data>({ data, error }: { data?: Data; error?: unknown }): Data => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}
const on = (id: string) => ({ params: { path: { id } } })
const named = (name: string) => ({ params: { path: { name } } })
const withKey = (key: string) => ({ params: { header: { 'Idempotency-Key': key } } })

/** No worker runs the queue of `draft`, so the job stays `waiting`. */
const enqueue = (kind: string) => retoma.POST('/api/v1/jobs', { body: { kind, input: { n: 1 } } })
const idIn = (made: unknown) => (made as { id: string }).id
const waiting = async () => idIn(found(await enqueue('draft')))
async function ended(): Promise<string> {
  const id = idIn(found(await enqueue('letter')))
  while (found(await retoma.GET('/api/v1/jobs/{id}', on(id))).state !== 'succeeded');
  return id
}
async function cancelled(): Promise<string> {
  const id = await waiting()
  found(await retoma.POST('/api/v1/jobs/{id}/cancel', on(id)))
  return id
}

const submit = async (name: string) =>
  idIn(found(await retoma.POST('/api/v1/batches', { body: { name, items: [{ n: 1 }] } })))
async function endedBatch(): Promise<string> {
  const id = await submit('letters')
  while (found(await retoma.GET('/api/v1/batches/{id}', on(id))).state !== 'succeeded');
  return id
}
async function cancelledBatch(): Promise<string> {
  const id = await submit('drafts')
  found(await retoma.POST('/api/v1/batches/{id}/cancel', on(id)))
  return id
}
/** The path parameters of an item of `batch`. */
async function itemOf(batch: Promise<string>) {
  const id = await batch
  const { items } = found(await retoma.GET('/api/v1/batches/{id}/items', on(id)))
  return { params: { path: { id, item: items[0]?.id ?? '' } } }
}

const createToken = async () =>
  idIn(found(await retoma.POST('/api/v1/tokens', { body: { user: 'rui', role: 'viewer' } })))
async function ownToken(): Promise<string> {
  const { items } = found(await retoma.GET('/api/v1/tokens', { params: { query: { user: 'admin' } } }))
  return items[0]?.id ?? ''
}
const ticked = { headers: { authorization: `Bearer ${secret}` } }
const reason = { reason: 'enough' }

const table: Record<JsonRoute, Line> = {
  'GET /health': { good: () => retoma.GET('/health') },
  'GET /ready': { good: () => retoma.GET('/ready') },
  'GET /api/openapi.json': { good: () => retoma.GET('/api/openapi.json') },
  'GET /api/v1/stats': { good: () => retoma.GET('/api/v1/stats') },
  'GET /api/v1/stats/health': { good: () => retoma.GET('/api/v1/stats/health') },
  'GET /api/v1/stats/history': { good: () => retoma.GET('/api/v1/stats/history') },
  'GET /api/v1/incidents': { good: () => retoma.GET('/api/v1/incidents') },
  'GET /api/v1/findings': { good: () => retoma.GET('/api/v1/findings') },
  'GET /api/v1/failures/causes': { good: () => retoma.GET('/api/v1/failures/causes') },
  'GET /api/v1/doctor': { good: () => retoma.GET('/api/v1/doctor') },
  'GET /api/v1/me': { good: () => retoma.GET('/api/v1/me') },
  'GET /api/v1/session': { good: () => retoma.GET('/api/v1/session') },
  'GET /api/v1/workers': { good: () => retoma.GET('/api/v1/workers') },
  'GET /api/v1/providers': { good: () => retoma.GET('/api/v1/providers') },
  'POST /api/v1/providers/{name}/clear': {
    async good() {
      found(await enqueue('question'))
      while (found(await retoma.GET('/api/v1/providers')).items[0]?.state !== 'waiting');
      return retoma.POST('/api/v1/providers/{name}/clear', named('oracle'))
    },
  },
  'POST /api/v1/login': { good: () => retoma.POST('/api/v1/login', { body: { token: tokens.viewer } }) },
  'POST /api/v1/logout': { good: () => retoma.POST('/api/v1/logout') },
  'GET /api/v1/cron/tick': { good: () => retoma.GET('/api/v1/cron/tick', ticked) },
  'POST /api/v1/cron/tick': { good: () => retoma.POST('/api/v1/cron/tick', ticked) },

  'POST /api/v1/jobs': {
    good: () => enqueue('draft'),
    async wrongState() {
      const asked = (n: number) => ({ body: { kind: 'draft', input: { n } }, ...withKey('a job') })
      found(await retoma.POST('/api/v1/jobs', asked(1)))
      return retoma.POST('/api/v1/jobs', asked(2))
    },
  },
  'GET /api/v1/jobs': { good: () => retoma.GET('/api/v1/jobs', { params: { query: { state: 'waiting', limit: 2 } } }) },
  'GET /api/v1/jobs/{id}': { good: async () => retoma.GET('/api/v1/jobs/{id}', on(await ended())) },
  'GET /api/v1/jobs/{id}/logs': { good: async () => retoma.GET('/api/v1/jobs/{id}/logs', on(await ended())) },
  'GET /api/v1/jobs/{id}/checkpoints/{step}': {
    good: async () =>
      retoma.GET('/api/v1/jobs/{id}/checkpoints/{step}', { params: { path: { id: await ended(), step: 'write' } } }),
  },
  'GET /api/v1/jobs/{id}/explain': { good: async () => retoma.GET('/api/v1/jobs/{id}/explain', on(await waiting())) },
  'POST /api/v1/jobs/{id}/explain': { good: async () => retoma.POST('/api/v1/jobs/{id}/explain', on(await waiting())) },
  'POST /api/v1/jobs/cancel': { good: () => retoma.POST('/api/v1/jobs/cancel', { body: { kind: 'none' } }) },
  'POST /api/v1/jobs/retry': { good: () => retoma.POST('/api/v1/jobs/retry', { body: { kind: 'none' } }) },
  'POST /api/v1/jobs/resume': { good: () => retoma.POST('/api/v1/jobs/resume', { body: { kind: 'none' } }) },
  'POST /api/v1/jobs/erase': { good: () => retoma.POST('/api/v1/jobs/erase', { body: { kind: 'none' } }) },
  'PATCH /api/v1/jobs/{id}': {
    body: { priority: 1 },
    good: async () => retoma.PATCH('/api/v1/jobs/{id}', { ...on(await waiting()), body: { priority: 1 } }),
    wrongState: async () => retoma.PATCH('/api/v1/jobs/{id}', { ...on(await ended()), body: { priority: 1 } }),
  },
  'POST /api/v1/jobs/{id}/cancel': {
    good: async () => retoma.POST('/api/v1/jobs/{id}/cancel', on(await waiting())),
    wrongState: async () => retoma.POST('/api/v1/jobs/{id}/cancel', on(await ended())),
  },
  'POST /api/v1/jobs/{id}/resume': {
    good: () => retoma.POST('/api/v1/jobs/{id}/resume', on(stalled)),
    wrongState: async () => retoma.POST('/api/v1/jobs/{id}/resume', on(await ended())),
  },
  'POST /api/v1/jobs/{id}/retry': {
    good: async () => retoma.POST('/api/v1/jobs/{id}/retry', on(await cancelled())),
    wrongState: async () => retoma.POST('/api/v1/jobs/{id}/retry', on(await ended())),
  },
  'POST /api/v1/jobs/{id}/rerun': {
    good: async () => retoma.POST('/api/v1/jobs/{id}/rerun', on(await ended())),
    wrongState: () => retoma.POST('/api/v1/jobs/{id}/rerun', on(stalledToo)),
  },
  'POST /api/v1/jobs/{id}/skip': {
    body: reason,
    good: async () => retoma.POST('/api/v1/jobs/{id}/skip', { ...on(await waiting()), body: reason }),
    wrongState: async () => retoma.POST('/api/v1/jobs/{id}/skip', { ...on(await cancelled()), body: reason }),
  },

  'POST /api/v1/batches': {
    good: () => retoma.POST('/api/v1/batches', { body: { name: 'drafts', items: [{ n: 1 }] } }),
    async wrongState() {
      const asked = (n: number) => ({ body: { name: 'drafts', items: [{ n }] }, ...withKey('a batch') })
      found(await retoma.POST('/api/v1/batches', asked(1)))
      return retoma.POST('/api/v1/batches', asked(2))
    },
  },
  'GET /api/v1/batches': { good: () => retoma.GET('/api/v1/batches') },
  'GET /api/v1/batches/{id}': { good: async () => retoma.GET('/api/v1/batches/{id}', on(await submit('drafts'))) },
  'GET /api/v1/batches/{id}/map': {
    good: async () => retoma.GET('/api/v1/batches/{id}/map', on(await submit('drafts'))),
  },
  'GET /api/v1/batches/{id}/actions': {
    good: async () => retoma.GET('/api/v1/batches/{id}/actions', on(await submit('drafts'))),
  },
  'GET /api/v1/batches/{id}/explain': {
    good: async () => retoma.GET('/api/v1/batches/{id}/explain', on(await submit('drafts'))),
  },
  'POST /api/v1/batches/{id}/explain': {
    good: async () => retoma.POST('/api/v1/batches/{id}/explain', on(await submit('drafts'))),
  },
  'GET /api/v1/batches/{id}/items': {
    good: async () => retoma.GET('/api/v1/batches/{id}/items', on(await submit('drafts'))),
  },
  'GET /api/v1/batches/{id}/failures': {
    good: async () => retoma.GET('/api/v1/batches/{id}/failures', on(await endedBatch())),
  },
  'GET /api/v1/batches/{id}/failures/causes': {
    good: async () => retoma.GET('/api/v1/batches/{id}/failures/causes', on(await endedBatch())),
  },
  'POST /api/v1/batches/{id}/items/{item}/skip': {
    body: reason,
    async good() {
      const item = await itemOf(submit('drafts'))
      return retoma.POST('/api/v1/batches/{id}/items/{item}/skip', { ...item, body: reason })
    },
    async wrongState() {
      const item = await itemOf(endedBatch())
      return retoma.POST('/api/v1/batches/{id}/items/{item}/skip', { ...item, body: reason })
    },
  },
  'POST /api/v1/batches/{id}/items/{item}/retry': {
    good: async () => retoma.POST('/api/v1/batches/{id}/items/{item}/retry', await itemOf(submit('drafts'))),
    wrongState: async () => retoma.POST('/api/v1/batches/{id}/items/{item}/retry', await itemOf(endedBatch())),
  },
  'POST /api/v1/batches/{id}/resume': {
    good: async () => retoma.POST('/api/v1/batches/{id}/resume', on(await submit('drafts'))),
    wrongState: async () => retoma.POST('/api/v1/batches/{id}/resume', on(await cancelledBatch())),
  },
  'POST /api/v1/batches/{id}/retry-failed': {
    good: async () => retoma.POST('/api/v1/batches/{id}/retry-failed', on(await endedBatch())),
    wrongState: async () => retoma.POST('/api/v1/batches/{id}/retry-failed', on(await cancelledBatch())),
  },
  'POST /api/v1/batches/{id}/pause': {
    good: async () => retoma.POST('/api/v1/batches/{id}/pause', on(await submit('drafts'))),
    wrongState: async () => retoma.POST('/api/v1/batches/{id}/pause', on(await endedBatch())),
  },
  'POST /api/v1/batches/{id}/cancel': {
    good: async () => retoma.POST('/api/v1/batches/{id}/cancel', on(await submit('drafts'))),
    wrongState: async () => retoma.POST('/api/v1/batches/{id}/cancel', on(await endedBatch())),
  },
  'POST /api/v1/batches/{id}/priority': {
    body: { priority: 1 },
    async good() {
      return retoma.POST('/api/v1/batches/{id}/priority', { ...on(await submit('drafts')), body: { priority: 1 } })
    },
    async wrongState() {
      return retoma.POST('/api/v1/batches/{id}/priority', { ...on(await cancelledBatch()), body: { priority: 1 } })
    },
  },

  'GET /api/v1/queues': { good: () => retoma.GET('/api/v1/queues') },
  'POST /api/v1/queues/{name}/pause': { good: () => retoma.POST('/api/v1/queues/{name}/pause', named('drawer')) },
  'POST /api/v1/queues/{name}/resume': { good: () => retoma.POST('/api/v1/queues/{name}/resume', named('drawer')) },
  'POST /api/v1/queues/{name}/clear': { good: () => retoma.POST('/api/v1/queues/{name}/clear', named('drawer')) },
  'PUT /api/v1/queues/{name}/limits': {
    body: { concurrency: 5 },
    good: () => retoma.PUT('/api/v1/queues/{name}/limits', { ...named('drawer'), body: { concurrency: 5 } }),
  },
  'GET /api/v1/queues/{name}/groups': { good: () => retoma.GET('/api/v1/queues/{name}/groups', named('drawer')) },
  'GET /api/v1/queues/{name}/explain': { good: () => retoma.GET('/api/v1/queues/{name}/explain', named('drawer')) },
  'POST /api/v1/queues/{name}/explain': { good: () => retoma.POST('/api/v1/queues/{name}/explain', named('drawer')) },
  'GET /api/v1/schedules': { good: () => retoma.GET('/api/v1/schedules') },
  'POST /api/v1/schedules/{name}/run': {
    good: () => retoma.POST('/api/v1/schedules/{name}/run', named('nightly')),
    async wrongState() {
      const header = { 'Idempotency-Key': 'a run' }
      found(await retoma.POST('/api/v1/schedules/{name}/run', { params: { path: { name: 'nightly' }, header } }))
      return retoma.POST('/api/v1/schedules/{name}/run', { params: { path: { name: 'hourly' }, header } })
    },
  },
  'GET /api/v1/schedules/{name}/occurrences': {
    good: () => retoma.GET('/api/v1/schedules/{name}/occurrences', named('nightly')),
  },
  'GET /api/v1/schedules/{name}/runs': {
    good: () => retoma.GET('/api/v1/schedules/{name}/runs', named('nightly')),
  },
  'POST /api/v1/schedules/{name}/pause': {
    good: () => retoma.POST('/api/v1/schedules/{name}/pause', named('nightly')),
  },
  'POST /api/v1/schedules/{name}/resume': {
    good: () => retoma.POST('/api/v1/schedules/{name}/resume', named('nightly')),
  },
  'GET /api/v1/guards': { good: () => retoma.GET('/api/v1/guards') },
  'POST /api/v1/guards/{name}/run': {
    good: () => retoma.POST('/api/v1/guards/{name}/run', named('documents')),
    wrongState: () => retoma.POST('/api/v1/guards/{name}/run', named('no-table')),
  },

  'GET /api/v1/tokens': { good: () => retoma.GET('/api/v1/tokens') },
  'POST /api/v1/tokens': {
    good: () => retoma.POST('/api/v1/tokens', { body: { user: 'rui', role: 'viewer' } }),
    async wrongState() {
      const asked = (user: string) => ({ body: { user, role: 'viewer' as const }, ...withKey('a token') })
      found(await retoma.POST('/api/v1/tokens', asked('ana')))
      return retoma.POST('/api/v1/tokens', asked('bia'))
    },
  },
  'DELETE /api/v1/tokens/{id}': {
    good: async () => retoma.DELETE('/api/v1/tokens/{id}', on(await createToken())),
    wrongState: async () => retoma.DELETE('/api/v1/tokens/{id}', on(await ownToken())),
  },
  'POST /api/v1/tokens/{id}/revoke': {
    good: async () => retoma.POST('/api/v1/tokens/{id}/revoke', on(await createToken())),
    wrongState: async () => retoma.POST('/api/v1/tokens/{id}/revoke', on(await ownToken())),
  },
}

/** The used part of a route's entry in the document. */
interface Told {
  'x-role': 'viewer' | 'operator' | 'admin' | 'open' | 'cron'
  parameters: { in: string; name: string }[]
  requestBody?: object
}

const api = found(await retoma.GET('/api/openapi.json')) as { paths: Record<string, Record<string, Told>> }
const smaller = { viewer: [], operator: ['viewer'], admin: ['viewer', 'operator'], open: [], cron: [] } as const

/** Sends a request without type checks, so the request may be wrong. */
function ask(route: string, init: object, token?: string): Promise<Answer> {
  const [method, path] = route.split(' ') as [string, string]
  const request = clientOf(token).request as (method: string, path: string, init: object) => Promise<Answer>
  return request(method.toLowerCase(), path, init)
}

for (const [route, line] of Object.entries(table)) {
  const [method, path] = route.split(' ') as [string, string]
  const told = api.paths[path]?.[method.toLowerCase()]
  if (told === undefined) throw new Error(`${route} is not in the document`)
  const tell = ({ response, error }: Answer, as: string) => {
    const { code } = (error as { error?: { code?: string } } | undefined)?.error ?? {}
    console.log(JSON.stringify({ route, as, status: response.status, code: code ?? null }))
  }
  const nobody = Object.fromEntries(told.parameters.filter(each => each.in === 'path').map(({ name }) => [name, '0']))
  const asked = { params: { path: nobody }, ...(line.body === undefined ? {} : { body: line.body }) }

  tell(await line.good(), 'good')
  if (line.wrongState) tell(await line.wrongState(), 'wrong state')
  if (path.includes('{')) tell(await ask(route, asked, tokens.admin), 'unknown id')
  if (told['x-role'] !== 'open') tell(await ask(route, asked), 'no token')
  for (const role of smaller[told['x-role']]) tell(await ask(route, asked, tokens[role]), 'wrong role')
  const allowed = told['x-role'] === 'cron' ? secret : tokens.admin
  const has = (where: string) => told.parameters.some(each => each.in === where && each.name !== 'Accept-Language')
  if (has('query')) {
    tell(await ask(route, { params: { path: nobody, query: { surprise: 1 } } }, allowed), 'bad input')
  } else if (told.requestBody !== undefined) {
    tell(await ask(route, { params: { path: nobody }, body: { surprise: 1 } }, allowed), 'bad input')
  } else if (has('header')) {
    const tooLong = { 'Idempotency-Key': 'k'.repeat(300) }
    tell(await ask(route, { params: { path: nobody, header: tooLong } }, allowed), 'bad input')
  }
}
