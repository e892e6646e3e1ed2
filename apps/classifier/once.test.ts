/** An Idempotency-Key on the creation of a project or an execution: a single creation, whatever breaks, and the first answer for a day. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { hours } from '../../src/index.ts'
import { until } from '../../test/support/engine.ts'
import { sqlOf } from '../../test/support/events.ts'
import { classifierDoor } from './test/door.ts'

async function stage() {
  const door = await classifierDoor()
  const projeto_id = await door.project({ nome: 'antes' })
  return { ...door, projeto_id, sql: await sqlOf(door) }
}

type Stage = Awaited<ReturnType<typeof stage>>

const documentos = ['a', 'b'].map(codigo => ({ codigo, texto: `texto de ${codigo}` }))

const makers: Record<string, { path: string; body(stage: Stage): object; before: number }> = {
  'a project': { path: '/projetos', body: () => ({ nome: 'Contratos', categorias: ['Contrato'] }), before: 1 },
  'an execution': { path: '/execucoes', body: ({ projeto_id }) => ({ projeto_id, documentos }), before: 0 },
}

describe.each(Object.entries(makers))('%s', (_, { path, body, before }) => {
  const send = (t: Stage) => t.ask('POST', path, { body: body(t), headers: { 'idempotency-key': 'k' } })
  const count = async (t: Stage) => (await t.ask('GET', path)).body.items.length - before

  test('is not there when its connection broke before the answer was kept, and the next try makes the only one', async () => {
    const t = await stage()
    const keeping = `query like '%update retoma.idempotency%' and wait_event = 'PgSleep' and datname = current_database()`
    await t.sql(`
      create function public.linger() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
      create trigger linger before update on retoma.idempotency for each row execute function public.linger()`)
    const drop = 'drop function if exists public.linger cascade'
    onTestFinished(async () => void (await t.sql(drop)))
    const broken = send(t)
    await until(async () => (await t.sql(`select from pg_stat_activity where ${keeping}`)).length === 1)
    await t.sql(`select pg_terminate_backend(pid) from pg_stat_activity where ${keeping}`)
    expect((await broken).status).toBe(503)
    await t.sql(drop)
    expect(await count(t)).toBe(0)
    const next = await send(t)
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(await count(t)).toBe(1)
  })

  test('is made once by ten at once, answered as it was the first time for a day, and then another', async () => {
    const t = await stage()
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(t)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    await t.clock.advance(hours(23))
    expect((await send(t)).body).toEqual(answers[0]!.body)
    expect(await count(t)).toBe(1)
    await t.clock.advance(hours(2))
    expect((await send(t)).body.id).not.toBe(answers[0]!.body.id)
    expect(await count(t)).toBe(2)
  })
})

test('an execution that is erased leaves nothing in the answer that was kept for its key, and its key makes no other', async () => {
  const t = await stage()
  const send = (key: string) =>
    t.ask('POST', '/execucoes', { body: makers['an execution']!.body(t), headers: { 'idempotency-key': key } })
  const [{ body: gone }, { body: stays }] = [await send('k'), await send('l')]
  // An unfinished execution stays, and so does the stored response.
  expect((await t.ask('DELETE', `/execucoes/${gone.id}`)).status).toBe(409)
  expect((await send('k')).body).toEqual(gone)
  await t.run()
  expect((await t.ask('DELETE', `/execucoes/${gone.id}`)).status).toBe(204)
  expect(await send('k')).toMatchObject({ status: 404, body: { error: { code: 'not_found', id: gone.id } } })
  expect((await send('l')).body).toEqual(stays)
  expect((await t.ask('GET', '/execucoes')).body.items).toMatchObject([{ id: stays.id }])
})
