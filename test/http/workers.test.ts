import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { sqlOf } from '../support/events.ts'
import { doorWith } from './support.ts'

const hello = defineJob({ kind: 'hello', run: () => 'ok' })

test('the workers there are are listed as the command line lists them', async () => {
  const { ask, engine } = await doorWith([hello])
  expect((await ask('GET', '/api/v1/workers')).body).toEqual({ items: [], next: null })
  await engine.work()
  const { status, body } = await ask('GET', '/api/v1/workers')
  expect(status).toBe(200)
  expect(body.items).toMatchObject([{ kinds: ['hello'], queues: { default: 10 }, dead: false }])
})

test('a worker that is silent or dead is shown as such, and one with heartbeats as neither', async () => {
  const { ask, clock, databaseUrl } = await doorWith()
  const now = clock.now().toISOString()
  const sql = await sqlOf({ databaseUrl })
  await sql(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at, suspected_at, dead_at)
     values ('alive', 'h', 1, '0', '{}', '{}', '${now}', '${now}', null, null), ('silent', 'h', 2, '0', '{}', '{}', '${now}', '${now}', '${now}', null),
       ('dead', 'h', 3, '0', '{}', '{}', '${now}', '${now}', '${now}', '${now}')`,
  )
  const { body } = await ask('GET', '/api/v1/workers')
  const reported = body.items.map(({ id, suspected, dead }: Record<string, unknown>) => ({ id, suspected, dead }))
  expect(reported).toHaveLength(3)
  expect(reported).toEqual(
    expect.arrayContaining([
      { id: 'alive', suspected: false, dead: false },
      { id: 'silent', suspected: true, dead: false },
      { id: 'dead', suspected: true, dead: true },
    ]),
  )
})

test('a route that is not there is shown in the language that was asked for', async () => {
  const { ask } = await doorWith()
  expect((await ask('GET', '/api/v1/nothing')).body.error.message).toBe('there is nothing at GET /api/v1/nothing')
  const portuguese = await ask('GET', '/api/v1/nothing', { headers: { 'accept-language': 'pt-BR' } })
  expect(portuguese.body.error.message).toBe('não há nada em GET /api/v1/nothing')
})
