/** Every route there is, walked by the table: what holds for all of them is held once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { roles } from '../../src/auth/model/token.ts'
import { methodsAt } from '../../src/http/allowed-methods.ts'
import { routesOf } from '../../src/http/app.ts'
import type { Route, TokenRole } from '../../src/http/index.ts'
import { type Json, openApiOf } from '../../src/http/openapi.ts'
import { defineBatch, defineJob } from '../../src/index.ts'
import { sqlOf } from '../support/events.ts'
import { fitting } from './arbitrary.ts'
import { type Door, doorWith } from './support.ts'

/** A door that tokens have closed, one of each role. */
async function closedDoor(): Promise<Door & { tokens: Record<TokenRole, string> }> {
  const door = await doorWith()
  const made = await Promise.all(roles.map(role => door.engine.tokens.create({ user: role, role })))
  return {
    ...door,
    tokens: Object.fromEntries(made.map(({ role, token }) => [role, token])) as Record<TokenRole, string>,
  }
}

const routes = routesOf({})
const { paths, components } = openApiOf(routes)
const nowhere = (route: Route) => route.path.replace(/\{\w+\}/g, '999999999')
const title = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`
const closed = routes.filter(({ role }) => role !== 'open' && role !== 'cron')
const withBody = closed.filter(({ body }) => body !== undefined)

/** A body that the route takes; the same at every run. */
function bodyOf(route: Route): Json | undefined {
  const reported = paths[route.path]![route.method]!.requestBody
  if (reported === undefined) return undefined
  const { schema } = (reported.content as Record<string, { schema: Json }>)['application/json']!
  const values = fc.sample(fitting(schema, components.schemas), { seed: 1, numRuns: 50 })
  // A number that JavaScript would round is refused before the schema.
  const isExact = (each: unknown) => !/\d{16}|[eE]\+?\d/.test(JSON.stringify(each))
  const isBody = (each: unknown) => typeof each === 'object' && !Array.isArray(each) && isExact(each)
  return values.find(each => route.body!.safeParse(each).success && isBody(each)) as Json
}

const sending = (route: Route, body: unknown) => (route.method === 'get' ? {} : { body })

const asked = (door: Door, route: Route, given: { token?: string; body?: unknown; query?: string } = {}) => {
  const { query = '', ...rest } = given
  const body = 'body' in given ? given.body : bodyOf(route)
  return door.ask(route.method.toUpperCase(), nowhere(route) + query, { ...rest, body })
}

test('without a token every route that is not open is 401, whatever was sent', async () => {
  const door = await closedDoor()
  for (const route of closed) {
    const refused = { status: 401, body: { error: { code: 'unauthorized' } } }
    expect.soft(await asked(door, route), title(route)).toMatchObject(refused)
    expect.soft(await asked(door, route, sending(route, { nonsense: 1 })), title(route)).toMatchObject(refused)
  }
})

test('with too small a role every route that acts is 403', async () => {
  const door = await closedDoor()
  for (const route of closed.filter(({ role }) => role !== 'viewer')) {
    for (const role of route.role === 'admin' ? (['viewer', 'operator'] as const) : (['viewer'] as const)) {
      const answer = await asked(door, route, { token: door.tokens[role] })
      expect.soft(answer, title(route)).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    }
  }
})

test('what an id or a name in a path does not find is 404', async () => {
  const door = await closedDoor()
  for (const route of closed.filter(({ path }) => path.includes('{'))) {
    const answer = await asked(door, route, { token: door.tokens.admin })
    const code = expect.stringMatching(/not_found|unknown_/)
    expect.soft(answer, title(route)).toMatchObject({ status: 404, body: { error: { code } } })
  }
})

test('a field of a body that a route does not know is named', async () => {
  const door = await closedDoor()
  for (const route of withBody) {
    const answer = await asked(door, route, { token: door.tokens.admin, body: { ...bodyOf(route), surprise: 1 } })
    const field = expect.stringMatching(/surprise$/)
    expect.soft(answer, title(route)).toMatchObject({ status: 400, body: { error: { code: 'bad_request', field } } })
  }
})

test('a parameter that a route does not know is named', async () => {
  const door = await closedDoor()
  for (const route of closed.filter(({ query }) => query !== undefined)) {
    const answer = await asked(door, route, { token: door.tokens.admin, query: '?surprise=1' })
    const error = { code: 'bad_request', field: 'surprise' }
    expect.soft(answer, title(route)).toMatchObject({ status: 400, body: { error } })
  }
})

test('a body is JSON, and one that is not is refused for what it is', async () => {
  const { fetch, tokens } = await closedDoor()
  for (const route of withBody) {
    const send = async (body: string, type: string) => {
      const headers = { authorization: `Bearer ${tokens.admin}`, 'content-type': type }
      const method = route.method.toUpperCase()
      return (await fetch(new Request(`http://127.0.0.1:3000${nowhere(route)}`, { method, body, headers }))).status
    }
    expect.soft(await send('{"a":1}', 'text/plain'), title(route)).toBe(415)
    expect.soft(await send('a=1', 'application/x-www-form-urlencoded'), title(route)).toBe(415)
    expect.soft(await send('{"a":', 'application/json'), title(route)).toBe(400)
  }
})

test('a method that a path does not take is 405, with the methods it takes', async () => {
  const door = await closedDoor()
  for (const path of new Set(routes.map(each => each.path))) {
    const taken = routes.filter(each => each.path === path).map(({ method }) => method.toUpperCase())
    const asked = path.replace(/\{\w+\}/g, '1')
    // A path with a name in it may be one with an id to another method.
    const known = methodsAt(routes, asked)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(each => !known.includes(each))) {
      const { status, headers, body } = await door.ask(method, asked, { token: door.tokens.admin })
      const reported = { status, code: body.error?.code, allow: headers.get('allow')?.split(', ') }
      const allow = expect.arrayContaining(taken)
      expect.soft(reported, `${method} ${path}`).toEqual({ status: 405, code: 'method_not_allowed', allow })
    }
  }
})

test('HEAD is answered where GET is, without a body', async () => {
  const { ask } = await doorWith()
  expect(await ask('HEAD', '/health')).toMatchObject({ status: 200, body: '' })
})

test('no route shows a viewer a stack, or what a child wrote on stderr; an operator sees both', async () => {
  const bad = defineJob({ kind: 'bad', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
  const many = defineBatch({ name: 'many', job: bad })
  const door = await doorWith([bad], { batches: [many] })
  const tokens = await Promise.all(
    (['viewer', 'operator'] as const).map(role => door.engine.tokens.create({ user: role, role })),
  )
  const { id: job } = await door.engine.enqueue(bad, undefined)
  const { id: batch } = await door.engine.submit(many, [undefined])
  await door.run()
  const { id: running } = await door.engine.enqueue(bad, undefined)
  const sql = await sqlOf(door)
  await sql(`update retoma.job set error = error || '{"stack": "HIDDEN in a stack"}' where error is not null`)
  await sql(
    `update retoma.failure set failure_type = 'crash', stack = 'HIDDEN in a stack', evidence = '{"signal": "SIGSEGV", "stderr": "HIDDEN on stderr", "stack": "HIDDEN in evidence"}'`,
  )
  const now = door.clock.now().toISOString()
  await sql(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at, blocked_since, blocked_job, blocked_attempt, blocked_stack)
     values ('w', 'h', 1, '0', '{"default": 1}', '{bad}', '${now}', '${now}', '${now}', ${running}, 1, 'HIDDEN in a loop')`,
  )
  await sql(
    `update retoma.job set state = 'running', worker_id = 'w', attempt = 1, started_at = '${now}' where id = ${running}`,
  )
  const found: Record<string, string[]> = { viewer: [], operator: [] }
  const readable = routes.filter(
    ({ method, role, answers, path }) =>
      role === 'viewer' && answers !== 'text/event-stream' && (method === 'get' || path.endsWith('/explain')),
  )
  for (const { role, token } of tokens)
    for (const route of readable)
      for (const id of route.path.includes('{id}') ? [job, running, batch] : ['']) {
        const path = route.path.replace('{id}', id).replace(/\{\w+\}/g, 'default')
        const { body } = await door.ask(route.method.toUpperCase(), path, { token })
        if (JSON.stringify(body).includes('HIDDEN')) found[role]!.push(title(route))
      }
  expect(found.viewer).toEqual([])
  expect([...new Set(found.operator)].sort()).toEqual([
    'GET /api/v1/batches/{id}/failures',
    'GET /api/v1/batches/{id}/items',
    'GET /api/v1/jobs',
    'GET /api/v1/jobs/{id}',
    'GET /api/v1/jobs/{id}/explain',
    'GET /api/v1/queues/{name}/explain',
    'GET /api/v1/workers',
    'POST /api/v1/jobs/{id}/explain',
    'POST /api/v1/queues/{name}/explain',
  ])
})
