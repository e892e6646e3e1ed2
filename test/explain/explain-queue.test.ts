/** `explain` of a queue, on a real database and the virtual clock. */
import { expect, test } from 'vitest'
import { minutes, seconds } from '../../src/index.ts'
import { ago, here, newsletter, send } from '../support/explain.ts'

const mail = { queue: 'mail' }

test('idle, keeping up, worked off, busy', async () => {
  const t = await here()
  await t.worker('w', { free_slots: '{"mail":2}' })
  expect(await t.said(mail)).toEqual({
    verdict: 'ok',
    action: 'nothing',
    sentence: 'queue "mail" is idle: nothing is ready and nothing runs',
    command: null,
  })
  await t.put('ok', { delay: minutes(3) })
  await t.held('w')
  expect((await t.said(mail)).sentence).toBe(
    'queue "mail" keeps up: nothing waits, 1 running; the next is due in 3 min',
  )
  await t.put()
  await t.clock.advance(seconds(8))
  expect(await t.said(mail)).toEqual({
    verdict: 'ok',
    action: 'wait',
    sentence: 'queue "mail" is being worked off; 1 ready, the oldest for 8 s, 1 running',
    command: null,
  })
  await t.sql(`update retoma.worker set free_slots = '{"mail":0}'`)
  expect(await t.said(mail)).toMatchObject({
    verdict: 'busy',
    sentence: 'queue "mail" is busy: all 2 slots of its workers are taken; 1 ready, the oldest for 8 s, 1 running',
  })
})

test('paused; starved of workers or of their code; held by its batches', async () => {
  const t = await here()
  await t.put()
  expect(await t.said(mail)).toEqual({
    verdict: 'starved',
    action: 'start_worker',
    sentence: 'queue "mail" has ready jobs and no worker is alive; 1 ready, the oldest for 0 s, 0 running',
    command: 'retoma worker --queues mail',
  })
  await t.worker('w', { kinds: '{other}' })
  expect(await t.said(mail)).toMatchObject({
    verdict: 'starved',
    action: 'deploy',
    sentence: expect.stringContaining('ready jobs that none of its live workers takes: 1 of send'),
  })
  await t.engine.queues.pause('mail')
  expect(await t.said(mail)).toMatchObject({ verdict: 'paused', command: 'retoma queues resume mail' })
  await t.engine.queues.resume('mail')
  await t.sql(`delete from retoma.job; update retoma.worker set kinds = '{send}'`)
  const batch = await t.engine.submit(newsletter, [{ do: 'ok' }])
  await t.engine.batches.pause(batch.id)
  expect(await t.said(mail)).toMatchObject({ verdict: 'paused', command: 'retoma batch list' })
})

test('at its limit, and with all its workers blocked', async () => {
  const t = await here({ limits: { mail: { concurrency: 2 } } })
  await t.worker('w')
  await t.put()
  await t.sql(`update retoma.limit_counter set running = 2`)
  expect(await t.said(mail)).toMatchObject({
    verdict: 'limited',
    sentence: 'queue "mail" is at its limit: it may run 2 at once and 2 run; 1 ready, the oldest for 0 s, 0 running',
  })
  await t.sql(`update retoma.limit_counter set running = 0`)
  await t.sql(`update retoma.worker set blocked_since = $1, blocked_stack = 'at spin'`, [ago(t, 9)])
  expect(await t.said(mail)).toMatchObject({
    verdict: 'hung',
    action: 'restart_worker',
    sentence: expect.stringContaining('the event loop of its only worker is blocked, of "w" for 9 s'),
  })
  expect((await t.engine.explain(mail)).facts).toMatchObject({ hung: [{ stack: 'at spin' }] })
})

test('a queue with very many says many', async () => {
  const t = await here()
  await t.worker('w')
  await t.sql(
    `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at)
     select 'mail', 'send', 'waiting', 9, $1, '{}', $1 from generate_series(1, 12000)`,
    [ago(t, 60)],
  )
  expect((await t.said(mail)).sentence).toContain('more than 10,000 ready, the oldest for 1 min')
})

test('a queue that nothing knows is refused, with the nearest; one that only a worker or a job knows is not', async () => {
  const t = await here()
  await expect(t.engine.explain({ queue: 'mial' })).rejects.toMatchObject({
    code: 'unknown_queue',
    message: 'unknown_queue: there is no queue "mial"; did you mean "mail"?',
  })
  await expect(t.engine.explain({ queue: `x"\n${'é'.repeat(5000)}` })).rejects.toMatchObject({ code: 'unknown_queue' })
  await t.worker('w', { queues: '{"elsewhere":1}' })
  expect(await t.said({ queue: 'elsewhere' })).toMatchObject({ verdict: 'ok' })
  await t.engine.enqueue(send, { do: 'ok' })
  await t.sql(`update retoma.job set queue = 'orphaned'`)
  expect(await t.said({ queue: 'orphaned' })).toMatchObject({ verdict: 'starved' })
})

test('in Portuguese as well', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.put()
  const { sentence, advice } = await t.engine.explain({ job: id }, { language: 'pt' })
  expect(sentence).toBe(`o job ${id} está pronto e é o próximo da fila "mail": começa em segundos`)
  expect(advice).toEqual({ action: 'wait', text: 'espere; continua sozinho', command: null })
})
