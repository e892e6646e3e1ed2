/**
 * A submit that is refused for what became of its batch: one that broke off and was then cancelled, failed, erased, or sent with
 * another list; and a database that has gone back. Nothing of what is there is changed by it.
 */

import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineBatch, defineJob, seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { type Door, doorWith } from './support.ts'

const draft = defineJob({ kind: 'draft', queue: 'drawer', run: (_, { n }: { n: number }) => n })
const drafts = defineBatch({ name: 'drafts', job: draft, stallAfter: seconds(60), maxResumes: 0 })
const list = (length: number) => Array.from({ length }, (_, n) => ({ n }))
const path = '/api/v1/batches'

function* broken(length: number) {
  yield* list(length)
  throw new Error('the source is gone')
}

/** With a batch that has taken 1,000 items of a longer list: what a server leaves that was killed at its second chunk. */
async function halfSubmitted() {
  const door = await doorWith([], { batches: [drafts] })
  await expect(door.engine.submit(drafts, broken(1500), { key: 'may' })).rejects.toThrow('the source is gone')
  const [left] = (await door.engine.batches.list()).items
  expect(left).toMatchObject({ state: 'submitting', total: 1000 })
  return { ...door, id: left!.id }
}

const submit = (door: Door, items: unknown[], language = 'en') =>
  door.ask('POST', path, { body: { name: 'drafts', items, key: 'may' }, headers: { 'accept-language': language } })

/** Refused twice, in both languages, with the batch as it was. */
async function refuses(door: Door, id: string, items: unknown[], error: object, sentences: { en: string; pt: string }) {
  const before = await door.engine.batch(id)
  for (const language of ['en', 'pt'] as const)
    expect(await submit(door, items, language)).toMatchObject({
      status: 409,
      body: { error: { id, ...error, message: sentences[language] } },
    })
  expect(await door.engine.batch(id)).toEqual(before)
  expect((await door.engine.batches.list()).items).toHaveLength(1)
}

test('one that broke off is not continued by a shorter list', async () => {
  const { id, ...door } = await halfSubmitted()
  await refuses(
    door,
    id,
    list(10),
    { code: 'other_list', received: 1000, given: 10 },
    {
      en: `batch ${id} has taken 1000 items already, and this list has 10; continue it with the list it began with`,
      pt: `o lote ${id} já recebeu 1000 itens, e esta lista tem 10; continue com a lista com que ele começou`,
    },
  )
  expect(await submit(door, list(1500))).toMatchObject({ status: 200, body: { id, created: false, total: 1500 } })
})

test('one that was cancelled takes nothing more', async () => {
  const { id, ...door } = await halfSubmitted()
  expect((await door.ask('POST', `${path}/${id}/cancel`)).status).toBe(200)
  await refuses(
    door,
    id,
    list(1500),
    { code: 'batch_cancelled' },
    {
      en: `batch ${id} is cancelled; nothing of it runs again`,
      pt: `o lote ${id} foi cancelado; nada dele roda de novo`,
    },
  )
})

test('one that has failed meanwhile takes nothing more', async () => {
  const { id, ...door } = await halfSubmitted()
  // No worker runs the batch, and the batch may not be resumed, so that it fails.
  await until(async () => {
    await door.tick()
    await door.clock.advance(seconds(5))
    const batch = await door.engine.batch(id)
    return batch!.state === 'failed' && !batch!.following
  })
  await refuses(
    door,
    id,
    list(1500),
    { code: 'batch_state', state: 'failed', action: 'submit' },
    {
      en: `batch ${id} is failed; submit is not possible then`,
      pt: `o lote ${id} está em failed; submit não é possível nesse estado`,
    },
  )
})

/** The server loses the database while it inserts the second chunk of 2,500 items; `meanwhile` runs during the outage. */
async function interrupted(
  door: Door,
  meanwhile: (sql: Awaited<ReturnType<typeof sqlOf>>) => Promise<unknown>,
  language = 'en',
) {
  const sql = await sqlOf(door)
  const sending = `wait_event = 'PgSleep' and datname = current_database()`
  const drop = 'drop function if exists public.linger cascade'
  onTestFinished(async () => void (await sql(drop)))
  await sql(`
    create function public.linger() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
    create trigger linger before insert on retoma.batch_chunk for each row when (new.n = 1) execute function public.linger()`)
  let open = true
  const answer = submit(door, list(2500), language).finally(() => (open = false))
  await until(async () => (await sql(`select from pg_stat_activity where ${sending}`)).length === 1)
  await sql(`select pg_terminate_backend(pid) from pg_stat_activity where ${sending}`)
  await sql(drop)
  await meanwhile(sql)
  while (open) {
    await internalsOf(door.engine).ping()
    await door.clock.advance(seconds(0.1))
  }
  return answer
}

/** As a failover does that lost the last commits. */
const goBack = async (sql: Awaited<ReturnType<typeof sqlOf>>) => {
  await sql('delete from retoma.job')
  await sql('delete from retoma.batch_chunk')
  await sql('update retoma.batch set items_received = 0, total = 0, chunks = 0')
}

test.each([
  [
    'en',
    'has 0 items where 1000 were sent: the database has gone back, as after a failover; submit the whole list again with the same key, and it goes on from there',
  ],
  [
    'pt',
    'tem 0 itens onde 1000 foram enviados: o banco voltou atrás, como depois de um failover; envie a lista inteira de novo com a mesma chave, e ele continua dali',
  ],
])(
  'in a database that has gone back it is asked to send its list again, which then goes on: %s',
  async (language, sentence) => {
    const door = await doorWith([], { batches: [drafts] })
    const refused = await interrupted(door, goBack, language)
    const [left] = (await door.engine.batches.list()).items
    expect(left).toMatchObject({ state: 'submitting', total: 0 })
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'batch_went_back',
          id: left!.id,
          received: 0,
          sent: 1000,
          message: expect.stringContaining(sentence),
        },
      },
    })
    expect(await submit(door, list(2500))).toMatchObject({ status: 200, body: { id: left!.id, total: 2500 } })
  },
)

test('one that was cancelled and erased while it was being sent is not there', async () => {
  const door = await doorWith([], { batches: [drafts] })
  let id = ''
  const refused = await interrupted(door, async () => {
    id = (await door.engine.batches.list()).items[0]!.id
    await door.engine.batches.cancel(id)
    await until(async () => {
      await door.tick()
      return !(await door.engine.batch(id))!.following
    })
    await door.engine.batches.erase(id)
  })
  expect(refused).toMatchObject({ status: 404, body: { error: { code: 'not_found', id } } })
  expect((await door.engine.batches.list()).items).toEqual([])
})
