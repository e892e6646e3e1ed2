/** A key that a transaction of somebody else has taken and not committed: refused in time, with nothing made, and retryable. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, defineSchedule, minutes } from '../../src/index.ts'
import { sqlOf } from '../support/events.ts'
import { doorWith } from './support.ts'

const sweep = defineJob({ kind: 'sweep', queue: 'nightly', run: () => 'ok' })
const often = defineSchedule({ name: 'often', job: sweep, every: minutes(5), options: { key: 'one' } })
const order = { kind: 'sweep', key: 'one' }
const key = { 'idempotency-key': 'k' }

test.each([
  ['a job', '/api/v1/jobs', order, {}, 'one', 'one'],
  ['a job with an Idempotency-Key', '/api/v1/jobs', order, key, 'one', 'one'],
  ['many', '/api/v1/jobs', [order, { kind: 'sweep', key: 'two' }, { kind: 'sweep' }], {}, 'one of 2', 'uma de 2'],
  ['a schedule', '/api/v1/schedules/often/run', undefined, {}, 'one', 'one'],
  ['a schedule with an Idempotency-Key', '/api/v1/schedules/often/run', undefined, key, 'one', 'one'],
] as const)('%s', async (_, path, body, headers, en, pt) => {
  const t = await doorWith([sweep], { schedules: [often] })
  const sql = await sqlOf(t)
  // A wait for a lock ends after ten seconds; here at once.
  onTestFinished(async () => void (await sql('drop function public.impatient cascade')))
  await sql(`
    create function public.impatient() returns trigger language plpgsql as $$
      begin perform set_config('lock_timeout', '20ms', true); return null; end $$;
    create trigger impatient before insert on retoma.job for each statement execute function public.impatient()`)
  const rival = new pg.Client({ connectionString: t.databaseUrl })
  await rival.connect()
  onTestFinished(() => rival.end())
  await rival.query('begin')
  const { id } = await t.engine.enqueue(sweep, undefined, { key: 'one', tx: rival })

  const ask = (language: string) =>
    t.ask('POST', path, { ...(body && { body }), headers: { ...headers, 'accept-language': language } })
  expect(await ask('en')).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'key_locked',
        kind: 'sweep',
        key: en,
        message: `a transaction that has not ended yet has enqueued a sweep job with the same key (${en}); nothing of this was enqueued: try again, in a transaction of your own all of it`,
      },
    },
  })
  expect(await ask('pt-BR')).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'key_locked',
        message: `uma transação que ainda não terminou enfileirou um job sweep com a mesma chave (${pt}); nada disto foi enfileirado: tente de novo, numa transação sua ela inteira`,
      },
    },
  })
  expect((await t.engine.jobs.list()).items).toEqual([])
  expect(await sql('select key from retoma.idempotency')).toEqual([])

  await rival.query('commit')
  expect((await ask('en')).body).toMatchObject(
    body && 'length' in body ? { created: 2, duplicates: 1 } : { id, created: false },
  )
})
