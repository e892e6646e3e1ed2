/** `explain` of a job in every state, on a real database and the virtual clock. */
import { expect, test } from 'vitest'
import { hours, minutes, seconds } from '../../src/index.ts'
import { spanText } from '../../src/lib/values/format-duration.ts'
import { ago, here, newsletter, send } from '../support/explain.ts'

test('a job that has ended is shown with how it ended, and which actions are possible', async () => {
  const t = await here()
  const [ok, bad, skipped] = [await t.put('ok'), await t.put('for good'), await t.put('skip')]
  const cancelled = await t.put('ok', { delay: hours(1) })
  await t.run()
  await t.engine.jobs.cancel(cancelled)
  await t.clock.advance(minutes(2))
  expect(await t.said(ok)).toEqual({
    verdict: 'ok',
    action: 'nothing',
    sentence: `job ${ok} succeeded 2 min ago, at attempt 1`,
    command: null,
  })
  expect(await t.said(bad)).toEqual({
    verdict: 'failed',
    action: 'retry',
    sentence: `job ${bad} failed for good 2 min ago, after 1 of 3 tries: no such address`,
    command: `retoma jobs retry ${bad}`,
  })
  expect(await t.said(skipped)).toMatchObject({
    verdict: 'skipped',
    action: 'nothing',
    sentence: `job ${skipped} was skipped 2 min ago: unsubscribed`,
  })
  expect(await t.said(cancelled)).toMatchObject({
    verdict: 'cancelled',
    sentence: `job ${cancelled} was cancelled 2 min ago and does not run any more`,
  })
})

test('a job that killed its process too often is poison, with what it left', async () => {
  const t = await here()
  const id = await t.put('for good')
  await t.run()
  await t.sql(
    `update retoma.job set crashes = 3, failures = 0,
       error = '{"type":"crash","code":"poison","message":"poison: SIGSEGV, three times","stack":null}' where id = $1`,
    [id],
  )
  await t.sql(
    `update retoma.failure set failure_type = 'crash', evidence = '{"signal":"SIGSEGV","stderr":"boom"}' where job_id = $1`,
    [id],
  )
  expect(await t.said(id)).toMatchObject({
    verdict: 'poison',
    action: 'look_at_failures',
    sentence: `job ${id} was stopped 0 s ago as poison, after 3 crashes of its process: SIGSEGV, three times`,
  })
  const { facts } = await t.engine.explain({ job: id })
  expect(facts).toMatchObject({ lastFailure: { evidence: { signal: 'SIGSEGV', stderr: 'boom' } } })
})

test('what waits for a time says until when and why: scheduled, backoff, snooze, sleep', async () => {
  const t = await here()
  await t.worker('w')
  const scheduled = await t.put('ok', { delay: hours(3) })
  const [failed, snoozed, slept] = [await t.put('fail'), await t.put('snooze'), await t.put('sleep')]
  await t.run()
  await t.clock.advance(seconds(10))
  await t.sql(`update retoma.worker set heartbeat_at = $1`, [t.clock.now()])
  for (const [id, sentence] of [
    [scheduled, `job ${scheduled} is scheduled: it runs in 2 h 59 min`],
    [failed, `job ${failed} waits 50 s more before it tries again: failure 1 of 3, SMTP said 451`],
    [snoozed, `job ${snoozed} waits 6 min 50 s more, as its handler asked (snooze); no try was spent`],
    [slept, `job ${slept} sleeps 1 h 59 min more, as its handler asked in "cool down"`],
  ] as const)
    expect(await t.said(id)).toEqual({ verdict: 'waiting', action: 'wait', sentence, command: null })
  await t.sql(`delete from retoma.worker`)
  expect(await t.said(failed)).toMatchObject({
    verdict: 'waiting',
    action: 'start_worker',
    sentence: expect.stringMatching(/SMTP said 451; and at present no worker is alive$/),
  })
})

test('nobody takes it: no worker at all, none of the queue, none that knows the kind, none of its version', async () => {
  const t = await here()
  const id = await t.put()
  await t.clock.advance(seconds(30))
  expect(await t.said(id)).toEqual({
    verdict: 'starved',
    action: 'start_worker',
    sentence: `job ${id} has been ready for 30 s and nobody takes it: no worker is alive`,
    command: 'retoma worker --queues mail',
  })
  await t.worker('w', { queues: '{"sync":2,"default":1}' })
  expect(await t.said(id)).toMatchObject({
    verdict: 'starved',
    action: 'start_worker',
    sentence: expect.stringContaining('no live worker serves queue "mail" (they serve default, sync)'),
  })
  await t.sql(`update retoma.worker set queues = '{"mail":2}', kinds = '{other}'`)
  expect(await t.said(id)).toMatchObject({
    verdict: 'starved',
    action: 'deploy',
    sentence: expect.stringContaining('no live worker of queue "mail" knows the kind "send" (they know other)'),
  })
  await t.sql(`update retoma.worker set kinds = '{}', versions = '{"send":[2,3]}'`)
  expect(await t.said(id)).toMatchObject({
    verdict: 'starved',
    action: 'deploy',
    sentence: expect.stringContaining('runs version 1 of "send" (they run 2 to 3)'),
  })
  await t.sql(`update retoma.job set version = 3`)
  expect(await t.said(id)).toMatchObject({ verdict: 'waiting' })
  // One that was last heard of longer ago than a worker may be silent is nobody.
  await t.sql(`update retoma.worker set heartbeat_at = $1`, [ago(t, 21)])
  expect(await t.said(id)).toMatchObject({ sentence: expect.stringMatching(/no worker is alive$/) })
})

test('a ready job is reported its place: next, behind others, behind many; those of a held batch do not count', async () => {
  const t = await here()
  await t.worker('w')
  const batch = await t.engine.submit(newsletter, [{ do: 'ok' }, { do: 'ok' }])
  await t.engine.batches.pause(batch.id)
  const first = await t.put()
  expect(await t.said(first)).toMatchObject({
    verdict: 'waiting',
    action: 'wait',
    sentence: `job ${first} is ready and next in queue "mail": it starts within seconds`,
  })
  await t.sql(`update retoma.job set run_at = $2 where id = $1`, [first, ago(t, 90)])
  expect((await t.said(first)).sentence).toBe(
    `job ${first} has been ready for 1 min 30 s, is next in queue "mail" and there is a free slot for it: it should have started`,
  )
  const second = await t.put()
  expect(await t.said(second)).toMatchObject({
    sentence: `job ${second} is ready and behind 1 other of queue "mail"`,
  })
  await t.engine.enqueueMany(
    send,
    Array.from({ length: 340 }, () => ({ do: 'ok' as const })),
  )
  const last = await t.put()
  expect((await t.said(last)).sentence).toBe(`job ${last} is ready and behind 342 others of queue "mail"`)
  const urgent = await t.put('ok', { priority: 0 })
  expect((await t.said(urgent)).sentence).toContain('next in queue')
  expect((await t.said(last)).sentence).toContain('behind 343 others')
  await t.sql(
    `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at)
     select 'mail', 'send', 'waiting', 0, $1, '{}', $1 from generate_series(1, 12000)`,
    [t.clock.now()],
  )
  expect((await t.said(last)).sentence).toBe(`job ${last} is ready and behind more than 10,000 others of queue "mail"`)
  const { facts } = await t.engine.explain({ job: last })
  expect(facts.ahead).toEqual({ jobs: 10_000, more: true })
})

test('all slots busy, or the loop of whoever takes it blocked', async () => {
  const t = await here()
  await t.worker('w', { free_slots: '{"mail":0}' })
  const id = await t.put()
  expect(await t.said(id)).toMatchObject({
    verdict: 'waiting',
    sentence: `job ${id} is ready and waits for a free slot: all 2 of the one worker that takes it are busy; it is next`,
  })
  // Its report with the last heartbeat is a few seconds old: what it holds by now counts as well.
  await t.sql(`update retoma.worker set free_slots = '{"mail":2}'`)
  expect((await t.said(id)).sentence).toContain('next in queue')
  await t.held('w')
  await t.held('w')
  expect((await t.said(id)).sentence).toContain('waits for a free slot')
  await t.sql(`update retoma.worker set free_slots = '{}'`)
  expect((await t.said(id)).sentence).toContain('waits for a free slot')
  await t.sql(`update retoma.worker set blocked_since = $1`, [ago(t, 9)])
  expect(await t.said(id)).toEqual({
    verdict: 'hung',
    action: 'restart_worker',
    sentence: `job ${id} is ready but the event loop of the only worker that takes it is blocked`,
    command: 'retoma explain queue mail',
  })
})

test('a paused queue, and a batch that is paused, stalled or cancelled, are the action to run', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.put('ok', { delay: minutes(5) })
  await t.engine.queues.pause('mail')
  expect(await t.said(id)).toEqual({
    verdict: 'paused',
    action: 'resume',
    sentence: `job ${id} waits because its queue "mail" is paused; it is not due for 5 min either`,
    command: 'retoma queues resume mail',
  })
  await t.engine.queues.resume('mail')
  const batch = await t.engine.submit(newsletter, [{ do: 'ok' }])
  const [item] = (await t.engine.jobs.list({})).items.filter(each => each.batchId === batch.id)
  await t.engine.batches.pause(batch.id)
  expect(await t.said(item!.id)).toMatchObject({ verdict: 'paused', command: `retoma batch resume ${batch.id}` })
  await t.sql(`update retoma.batch set state = 'stalled' where id = $1`, [batch.id])
  expect(await t.said(item!.id)).toMatchObject({ verdict: 'stalled', command: `retoma batch resume ${batch.id}` })
  // Between the action and the chunk that changes its rows.
  await t.sql(`update retoma.batch set state = 'cancelled', finished_at = $2, cascade = 'cancel' where id = $1`, [
    batch.id,
    t.clock.now(),
  ])
  expect(await t.said(item!.id)).toMatchObject({
    verdict: 'cancelled',
    action: 'wait',
    sentence: `job ${item!.id} is about to end with its batch ${batch.id}, which was cancelled: it follows in about 5 s`,
  })
})

test('a limit in the way is named with how much of it is used: of the queue, of the group, in a time', async () => {
  const t = await here({
    limits: { mail: { concurrency: 2, perGroup: { rate: { limit: 1, per: minutes(1) } } } },
  })
  await t.worker('w')
  await t.put('ok', { groupKey: 'ana' })
  await t.run()
  await t.clock.advance(seconds(15))
  await t.sql(`update retoma.worker set heartbeat_at = $1`, [t.clock.now()])
  const id = await t.put('ok', { groupKey: 'ana' })
  expect(await t.said(id)).toMatchObject({
    verdict: 'limited',
    action: 'wait',
    sentence: `job ${id} waits for a limit: its group "ana" may start 1 in 1 min and has; the next may start in 45 s`,
  })
  const other = await t.put('ok', { groupKey: 'bia' })
  expect(await t.said(other)).toMatchObject({
    verdict: 'waiting',
    sentence: `job ${other} is ready and the next of its group in queue "mail"; the groups of a priority take turns`,
  })
  const next = await t.put('ok', { groupKey: 'bia' })
  expect((await t.said(next)).sentence).toBe(
    `job ${next} is ready and behind 1 other of its group in queue "mail"; the groups of a priority take turns`,
  )
  await t.sql(`update retoma.limit_counter set running = 2 where group_key = ''`)
  expect((await t.said(other)).sentence).toContain('queue "mail" may run 2 at once and 2 run')
})

test('a named group is explained by its own limit, and fair turns by the jobs of its batch', async () => {
  const t = await here({ limits: { mail: { perGroup: { concurrency: 9, ana: { concurrency: 1 } } } } })
  await t.worker('w')
  const id = await t.put('ok', { groupKey: 'ana' })
  await t.sql(`insert into retoma.limit_counter (queue, group_key, running, used_at) values ('mail', 'ana', 1, now())`)
  expect((await t.said(id)).sentence).toBe(`job ${id} waits for a limit: its group "ana" may run 1 at once and 1 runs`)
  await t.engine.queues.setLimits('mail', { fair: 'batch' })
  const next = await t.put('ok', { groupKey: 'bia' })
  expect((await t.said(next)).sentence).toBe(
    `job ${next} is ready and behind 1 other of its batch in queue "mail"; the batches of a priority take turns`,
  )
})

test('a suspect is shown as one, and how it runs next', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.put()
  await t.sql(`update retoma.job set crash_suspicion = '{"level":1,"crashedWorker":"w-1","unexplainedCrashes":1}'`)
  expect(await t.said(id)).toMatchObject({
    verdict: 'suspect',
    action: 'wait',
    sentence: expect.stringContaining('may have killed it: it runs next apart from the other suspects'),
  })
  await t.sql(`update retoma.job set crash_suspicion = '{"level":2,"crashedWorker":"w-1","unexplainedCrashes":2}'`)
  expect((await t.said(id)).sentence).toContain('it runs next alone')
})

test('a running job is shown with its worker, its step and its progress', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w', 90, {
    checkpoint: 'extract',
    progress: '{"done":3,"total":10}',
    progress_at: ago(t, 4),
  })
  expect(await t.said(id)).toEqual({
    verdict: 'ok',
    action: 'wait',
    sentence: `job ${id} runs: attempt 1, for 1 min 30 s, on worker "w"; after its step "extract"; 3 of 10 done; last progress 4 s ago`,
    command: null,
  })
})

test('past what it was expected to take, without progress, past its timeout, past its age', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w', 121)
  expect(await t.said(id)).toMatchObject({ verdict: 'slow', action: 'wait' })
  const since = (s: number) => t.sql(`update retoma.job set started_at = $1`, [ago(t, s)])
  await since(301)
  expect(await t.said(id)).toMatchObject({
    verdict: 'stalled',
    sentence: `job ${id} runs on worker "w" but has made no progress for 5 min 1 s, more than its 5 min: it is stalled and waits for a person in about 5 s`,
  })
  await t.sql(`update retoma.job set progress_at = $1`, [ago(t, 10)])
  expect(await t.said(id)).toMatchObject({ verdict: 'slow' })
  await since(630)
  expect(await t.said(id)).toMatchObject({
    verdict: 'timeout',
    sentence: `job ${id} has run for 10 min 30 s, past its timeout of 10 min: its signal is aborted, and the watchdog takes it away in about 30 s`,
  })
  await t.sql(`update retoma.worker set write_lag_ms = 40000`)
  expect(await t.said(id)).toMatchObject({ verdict: 'unwritten', command: 'retoma doctor' })
  // The clocks of attempts stop while nobody checks, and while the loop of their worker is blocked.
  await t.sql(`update retoma.worker set write_lag_ms = 0`)
  await t.sql(`update retoma.periodic_lease set since = $1 where name = 'watchdog'`, [ago(t, 500)])
  expect(await t.said(id)).toMatchObject({ verdict: 'slow' })
  await t.sql(`update retoma.job set progress_at = null`)
  expect(await t.said(id)).toMatchObject({ verdict: 'stalled' })
  await t.sql(`update retoma.worker set unblocked_at = $1`, [ago(t, 100)])
  expect(await t.said(id)).toMatchObject({ verdict: 'slow' })
  await t.sql(`update retoma.kind set policy = policy || '{"maxAge":3600000}'`)
  await t.sql(`update retoma.job set created_at = $1`, [ago(t, 3700)])
  expect(await t.said(id)).toMatchObject({ verdict: 'overdue' })
  const later = await t.put('ok', { delay: minutes(1) })
  await t.sql(`update retoma.job set created_at = $2 where id = $1`, [later, ago(t, 9000)])
  expect(await t.said(later)).toMatchObject({ verdict: 'waiting' })
})

test('a blocked loop: by this job, by a neighbour, by what cannot be reported; with a supervisor and without', async () => {
  const t = await here()
  await t.worker('w', { blocked_since: ago(t, 12), blocked_stack: 'at spin (/app/spin.js:3:9)' })
  const id = await t.held('w', 20)
  expect(await t.said(id)).toMatchObject({
    verdict: 'hung',
    action: 'restart_worker',
    sentence: `job ${id} cannot go on: the event loop of its worker "w" has been blocked for 12 s; nobody starts that worker again, so it is not killed`,
  })
  await t.sql(`update retoma.worker set blocked_job = 99, supervised = true`)
  expect((await t.said(id)).sentence).toContain(
    "blocked for 12 s by job 99; at that job's timeout the process is killed",
  )
  await t.sql(`update retoma.worker set blocked_job = $1`, [id])
  expect(await t.said(id)).toMatchObject({
    verdict: 'hung',
    action: 'wait',
    sentence: `job ${id} itself blocks the event loop of its worker "w", for 12 s; at its timeout, 9 min 40 s from now, the process is killed and started again`,
  })
  const { facts } = await t.engine.explain({ job: id })
  expect(facts).toMatchObject({ worker: { stack: 'at spin (/app/spin.js:3:9)' } })
})

test('an orphan is shown when it comes back: by the next check, or when its worker is silent for long enough', async () => {
  const t = await here()
  await t.sql(`update retoma.periodic_lease set at = $1 where name = 'watchdog'`, [ago(t, 3)])
  const gone = await t.held('w-gone')
  expect(await t.said(gone)).toEqual({
    verdict: 'orphan',
    action: 'wait',
    sentence: `job ${gone} is held by nobody alive: its worker "w-gone" is gone; it runs again elsewhere in about 2 s`,
    command: null,
  })
  await t.worker('w-dead', {
    heartbeat_at: ago(t, 60),
    dead_at: ago(t, 1),
    crash_report: '{"how":"unexplained","why":"SIGSEGV"}',
  })
  expect((await t.said(await t.held('w-dead'))).sentence).toContain(
    'its worker "w-dead" is dead (SIGSEGV); it runs again elsewhere in about 2 s',
  )
  // Silent for 12 s and suspected for 1 s: dead at 20 s at the earliest, and two heartbeats after the suspicion: 9 s from now;
  // the first check from then on is the one in 12 s.
  await t.worker('w-silent', { heartbeat_at: ago(t, 12), suspected_at: ago(t, 1) })
  const silent = await t.held('w-silent')
  expect(await t.said(silent)).toMatchObject({
    verdict: 'orphan',
    sentence: expect.stringContaining('has been silent for 12 s; if it is dead, it runs again elsewhere in about 12 s'),
  })
  await t.sql(`update retoma.kind set policy = policy || '{"onOrphan":"stall"}'`)
  expect((await t.said(gone)).sentence).toContain('it stalls and waits for a person in about 2 s')
})

test('a kind that is swept rarely says so; and when nobody checks, that is what it says', async () => {
  const t = await here()
  const id = await t.held('w-gone')
  await t.worker('w-dead', { heartbeat_at: ago(t, 30), suspected_at: ago(t, 18), dead_at: ago(t, 8) })
  const dead = await t.held('w-dead', 31)
  expect((await t.said(dead)).sentence).toContain('it runs again elsewhere in about 5 s')
  await t.sql(`update retoma.kind set policy = policy || '{"orphanAfter":120000}'`)
  expect((await t.said(dead)).sentence).toContain('it runs again elsewhere in about 1 min 30 s')
  // Swept at whole multiples of 4 min 55 s since 1970, by the first check from then on; the clock begins at noon.
  await t.sql(`update retoma.kind set policy = policy || '{"sweepEvery":300000}'`)
  const step = 295_000
  const sweep = Math.ceil((t.clock.now().getTime() + 90_000) / step) * step
  const inSeconds = Math.ceil((sweep - t.clock.now().getTime()) / 5000) * 5
  expect((await t.said(dead)).sentence).toContain(`it runs again elsewhere in about ${spanText(inSeconds)}`)
  await t.clock.advance(minutes(3))
  expect(await t.said(id)).toEqual({
    verdict: 'orphan',
    action: 'start_worker',
    sentence: `job ${id} is held by nobody alive: its worker "w-gone" is gone; it runs again elsewhere; but no watchdog has checked for 3 min`,
    command: 'retoma up',
  })
})

test('a job without progress, of a kind that is swept rarely, is shown the sweep that ends it; and at that it ends', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w')
  await t.sql(`update retoma.periodic_lease set since = $1 where name = 'watchdog'`, [ago(t, 600)])
  await t.sql(`update retoma.kind set policy = policy || '{"stallAfter":60000,"sweepEvery":300000,"onStall":"retry"}'`)
  const sign = ago(t, 1).getTime()
  const pass = async (ms: number) => {
    for (const end = t.clock.now().getTime() + ms; t.clock.now().getTime() < end; ) {
      await t.clock.advance(seconds(5))
      await t.sql(`update retoma.worker set heartbeat_at = $1`, [t.clock.now()])
      await t.tick()
    }
  }
  await pass(65_000)
  const sweep = Math.ceil((sign + 60_000) / 295_000) * 295_000
  const inSeconds = Math.ceil((sweep - t.clock.now().getTime()) / 5000) * 5
  expect(inSeconds).toBeGreaterThan(5)
  expect((await t.said(id)).sentence).toContain(`it is run again in about ${spanText(inSeconds)}`)
  await pass((inSeconds - 5) * 1000)
  expect((await t.engine.job(id))!.state).toBe('running')
  await pass(5000)
  expect((await t.engine.job(id))!.state).toBe('waiting')
})

test('what is said of an orphan comes true: at the check it names the watchdog has it back', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w')
  await t.tick()
  for (let explained = false; ; ) {
    await t.clock.advance(seconds(5))
    const { verdict, sentence } = await t.said(id)
    if (verdict === 'orphan' && !explained) {
      explained = true
      const promised = Number(/in about (\d+) s/.exec(sentence)![1])
      for (let passed = 0; passed < promised; passed += 5) {
        await t.tick()
        await t.clock.advance(seconds(5))
      }
      await t.tick()
      expect((await t.engine.job(id))!.state).toBe('waiting')
      return
    }
    await t.tick()
  }
})

test('a stalled job says why and the action to run; restarts without end are named', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w', 1, { checkpoint: 'extract' })
  await t.sql(
    `update retoma.job set state = 'stalled', worker_id = null, error = '{"type":"stalled","message":"no progress for 5 min","code":null}',
       crash_suspicion = '{"level":0,"restartsWithoutProgress":10}' where id = $1`,
    [id],
  )
  await t.sql(
    `insert into retoma.failure (job_id, attempt, failure_type, message, at) values ($1, 1, 'stalled', 'no progress', $2)`,
    [id, ago(t, 90)],
  )
  const { advice, sentence, verdict } = await t.engine.explain({ job: id })
  expect({ verdict, sentence, advice }).toEqual({
    verdict: 'stalled',
    sentence: `job ${id} stalled 1 min 30 s ago and waits for a person: no progress for 5 min (10 restarts in a row without a step of progress)`,
    advice: {
      action: 'resume',
      text: 'resume it; it goes on after its step "extract"',
      command: `retoma jobs retry ${id}`,
    },
  })
})

test('hostile names are cut, stay on one line and end no quotation; inputs and results are nowhere', async () => {
  const t = await here()
  await t.worker('w')
  const id = await t.held('w', 1, { checkpoint: `a"b\n\u202e${'é'.repeat(500)}`, input: '{"token":"s3cret"}' })
  const { sentence, facts } = await t.engine.explain({ job: id })
  expect(sentence).toMatch(/after its step "a'b é+…"$/)
  expect([...sentence].length).toBeLessThan(200)
  expect(JSON.stringify({ sentence, facts })).not.toContain('s3cret')
  const done = await t.put('ok')
  await t.run()
  expect(Object.keys((await t.engine.explain({ job: done })).facts)).not.toContain('result')
})

test('an id that names nothing is refused, and a batch is not taken for a job', async () => {
  const t = await here()
  const batch = await t.engine.submit(newsletter, [])
  const job = await t.put()
  await expect(t.engine.explain({ job: '999' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(t.engine.explain({ job: 'x' })).rejects.toMatchObject({ code: 'not_found' })
  await expect(t.engine.explain({ job: batch.id })).rejects.toThrow(
    `there is no job, but a batch, with the id "${batch.id}"`,
  )
  await expect(t.engine.explain({ batch: job })).rejects.toThrow(`there is no batch, but a job, with the id "${job}"`)
  await expect(t.engine.explain({ job }, { language: 'fr' as 'en' })).rejects.toMatchObject({ code: 'bad_option' })
  await expect(t.engine.explain({} as { job: string })).rejects.toMatchObject({ code: 'bad_option' })
})
