/**
 * What a person presses on a batch, and the verdict of its stall. Each verb is one statement that checks the state in its
 * own `where` and changes the batch at once: `held` keeps claims away from its jobs from that commit on. Where its jobs must
 * follow, `todo` says so, and batch-bite.ts does it.
 *
 * Invariant: pressed twice, or by ten at once, is pressed once; what did not move is answered by the state it is in.
 */
import { causeOf } from '../core/cause.ts'
import { countMoves } from './batch-count.ts'
import { asQueueSays } from './control.ts'
import { type Db, runOn } from './db.ts'
import { noteBatchActions, noteBatchStates } from './event.ts'
import { freeGates } from './gate.ts'
import { cleared } from './provider.ts'

const now = `coalesce($2::timestamptz, now())`

// One that paused itself stays paused, from here on because a person says so: no provider's answer has it go on.
const pause = {
  name: 'batch_pause',
  text: `
    with home as materialized (
      select id, state, reason ->> 'provider' as provider from retoma.batch
      where id = $1 and (state in ('submitting', 'running') or state = 'paused' and reason ->> 'code' <> 'person')
      for update
    ), disarmed as (
      update retoma.provider p set probe_job = null from home h where p.name = any (array[h.provider]) and p.probe_job is not null
    ), pressed as (
      update retoma.batch b
      set state = 'paused', held = true, reason = jsonb_build_object('code', 'person'), sample_at = '{}', sample_done = '{}',
        stall_from = 'infinity'
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state
    ), ${noteBatchActions('pause', 'pressed', now, '$3::text')}
    select id from pressed`,
}

/** What a batch is that goes on. */
export const goesOn = `case when submitted_at is null then 'submitting' else 'running' end`
/** Claims have passed its jobs by: they begin at the start of their lanes once. */
export const unheld = `
  unheld as (
    update retoma.queue q set unheld = q.unheld + 1 from pressed p where q.name = any (array[p.queue])
  )`

// Whoever has a batch go on has seen to what stopped it: the provider it stood still for is asked at once, and so is one that has
// stopped since, which its jobs would meet first.
const unpause = {
  name: 'batch_unpause',
  text: `
    with home as materialized (
      select id, kind, reason ->> 'provider' as provider from retoma.batch where id = $1 and state = 'paused' for update
    ), met as materialized (
      select p.name from home h join retoma.provider p on p.name = h.provider or p.stopped_at is not null and h.kind = any (p.kinds)
      order by p.name
      for update of p
    ), asked as (
      update retoma.provider set ${cleared(now)} where name = any (array(select name from met))
    ), pressed as (
      update retoma.batch b
      set state = ${goesOn}, held = false, reason = null
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.queue, 'paused' as was, b.state
    ), ${unheld}, ${noteBatchActions('unpause', 'pressed', now, '$3::text')}
    select id from pressed`,
}

// Its stalled jobs wait again.
const resume = {
  name: 'batch_resume',
  text: `
    with pressed as (
      update retoma.batch
      set state = ${goesOn}, held = false, reason = null, resumes = resumes + 1, sample_at = '{}', sample_done = '{}'
      where id = $1 and state = 'stalled'
      returning id, queue, 'stalled' as was, state
    ), ${unheld}, ${noteBatchActions('resume', 'pressed', now, '$3::text')}, before as materialized (
      select id from retoma.job
      where state = 'stalled' and batch_id = (select id from pressed)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'waiting', rank = rank & ~1, run_at = ${now}, care = null, ${asQueueSays}
      where j.id = any (array(select id from before))
      returning j.batch_id, 'stalled' as was, j.state
    ),
    ${countMoves('moved')}
    select id from pressed`,
}

const cancel = {
  name: 'batch_cancel',
  text: `
    with home as materialized (
      select id, state from retoma.batch where id = $1 and state in ('submitting', 'running', 'paused', 'stalled') for update
    ), pressed as (
      update retoma.batch b
      set state = 'cancelled', held = true, finished_at = ${now}, reason = null, todo = 'cancel', todo_at = ${now}, todo_chunk = 0
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state
    ), ${noteBatchActions('cancel', 'pressed', now, '$3::text')}
    select id from pressed`,
}

const verbs = { pause, unpause, resume, cancel }
export type BatchVerb = keyof typeof verbs

/** Whether this call did it; `by`: who pressed. */
export async function pressBatch(
  db: Db,
  verb: BatchVerb,
  id: string,
  by: string | undefined,
  now: Date | null,
): Promise<boolean> {
  return (await db.run(verbs[verb], [id, now, by ?? null])).length > 0
}

// Of succeeded only when there is something to do, and it goes on with the first job that waits again. Of stalled it is not
// asked: it is resumed first.
const retryFailed = {
  name: 'batch_retry_failed',
  text: `
    with home as materialized (
      select id, state, finished_at from retoma.batch b
      where id = $1 and state not in ('cancelled', 'stalled') and todo is null
        and (state = 'failed' or (
          select true from retoma.job j
          where j.batch_id = b.id and j.state = 'failed'
            and coalesce(j.error ->> 'cause', '') >= coalesce($3, '') and coalesce(j.error ->> 'cause', '') <= coalesce($3, 'g')
          limit 1
        ))
      for update
    ), pressed as (
      update retoma.batch b
      set state = case when h.state = 'failed' then ${goesOn} else h.state end,
        finished_at = case when h.state = 'succeeded' then h.finished_at end, epoch = epoch + 1,
        resumes = case when h.state = 'failed' then 0 else resumes end,
        reason = case when h.state = 'failed' then null else reason end,
        retries = retries + 1, retried = 0, retried_held = 0,
        todo = 'retry', todo_at = ${now}, todo_cause = $3, todo_place = coalesce($3, ''), todo_id = 0
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.retries, h.state as was, b.state
    ), ${noteBatchActions('retry failed', 'pressed', now, '$4::text')}
    select retries from pressed`,
}

const lock = { name: 'batch_lock', text: `select from retoma.batch where id = $1 for update` }

/**
 * Begins it; batch-bite.ts does it. Answers the number of this retry; undefined: there is nothing to retry, or it is in no
 * state for it, or rows still follow.
 */
export async function beginRetry(
  db: Db,
  id: string,
  { cause, by }: { cause?: string | undefined; by?: string | undefined },
  now: Date | null,
): Promise<number | undefined> {
  // Locked first: what failed is then looked for by a snapshot that knows what the last bite moved. In one statement a retry of
  // nothing could begin after another's, which then no longer knows what it moved.
  const [row] = await db.transaction(async client => {
    const run = runOn(client)
    await run(lock, [id])
    return run<{ retries: number }>(retryFailed, [id, now, cause ?? null, by ?? null])
  })
  return row?.retries
}

const retried = {
  name: 'batch_retried',
  text: `select retried, retried_held as held from retoma.batch where id = $1 and retries = $2`,
}

/** What that retry moved, whoever took its bites; undefined: there has been another since. */
export async function retriedBy(
  db: Db,
  id: string,
  retries: number,
): Promise<{ retried: number; held: number } | undefined> {
  const [row] = await db.run<{ retried: number; held: number }>(retried, [id, retries])
  return row
}

// Its clock, and the last end of an attempt, are still what they were when it was judged: otherwise it has moved on, or another
// watchdog was first and a person has resumed it since.
const asJudged = `
  ($4::bigint is null or stall_from <> 'infinity' and (extract(epoch from stall_from) * 1000000)::bigint = $4)
    and ($4::bigint is null or not exists (
      select from retoma.batch_count c
      where c.batch_id = $1 and (extract(epoch from c.progress_at) * 1000000)::bigint > coalesce($5::bigint, 0)
    ))`

// While it may be resumed: it stands, and so does what ran. After that it is failed, and what has not ended follows; so it is at
// once where its policy says 'fail'.
const stall = {
  name: 'batch_stall',
  text: `
    with home as materialized (
      select id, state, resumes, resumes >= (policy ->> 'maxResumes')::int or policy ->> 'onStall' = 'fail' as over
      from retoma.batch
      where id = $1 and state in ('submitting', 'running') and todo is null and ${asJudged}
      for update
    ), pressed as (
      update retoma.batch b
      set state = case when h.over then 'failed' else 'stalled' end,
        held = true,
        finished_at = case when h.over then ${now} end,
        todo = case when h.over then 'fail' end, todo_at = ${now}, todo_chunk = 0,
        sample_at = '{}', sample_done = '{}', stall_from = 'infinity',
        reason = case
          when h.over and b.policy ->> 'onStall' <> 'fail' then jsonb_build_object('code', 'resumes_spent', 'resumes', h.resumes)
          else $3::jsonb
        end
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason
    ), ${noteBatchStates('pressed', now)}, before as materialized (
      select id from retoma.job
      where state = 'running' and batch_id = (select id from home where not over)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'stalled', last_worker = j.worker_id, worker_id = null
      where j.id = any (array(select id from before))
      returning j.batch_id, 'running' as was, j.state, j.queue, j.gated, j.gate_key
    ), ${freeGates('moved', now)},
    ${countMoves('moved')}
    select state from pressed`,
}

/** What a watchdog judged by; without it a batch is stalled however it fares. */
export interface StallSeen {
  fromUs: string
  progressUs: string | null
}

/** Its verdict, with why; undefined: it was not at work, or not as it was judged. */
export async function stallBatch(
  db: Db,
  id: string,
  reason: { code: string },
  now: Date | null,
  seen?: StallSeen,
): Promise<'stalled' | 'failed' | undefined> {
  const values = [id, now, JSON.stringify(reason), seen?.fromUs ?? null, seen?.progressUs ?? null]
  const [row] = await db.run<{ state: 'stalled' | 'failed' }>(stall, values)
  return row?.state
}

// What runs gives up its lease and runs again, at no charge; what was ready and nobody took has nothing to give up.
const rerun = {
  name: 'batch_stall_retry',
  text: `
    with pressed as (
      update retoma.batch
      set stall_from = ${now}
      where id = $1 and state in ('submitting', 'running') and todo is null and ${asJudged}
      returning id, queue
    ), before as materialized (
      select id, worker_id from retoma.job
      where state = 'running' and batch_id = (select id from pressed)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'waiting', last_worker = j.worker_id, worker_id = null, rank = rank & ~1, run_at = ${now},
        error = jsonb_build_object('what', 'stalled', 'message', $6::text, 'code', null, 'stack', null, 'cause', $7::text)
      where j.id = any (array(select id from before))
      returning j.id, j.attempt, j.last_worker, j.batch_id, j.ref, 'running' as was, j.state, j.queue, j.gated, j.gate_key, j.error
    ), noted as (
      insert into retoma.failure (job_id, attempt, what, message, worker, at)
      select id, attempt, 'stalled', $6, last_worker, ${now} from moved
      on conflict do nothing
    ), told_stall as (
      insert into retoma.event (at, type, batch_id, data)
      select ${now}, 'warning', id, $3::jsonb || jsonb_build_object('what', 'stalled')
      from pressed
    ), ${freeGates('moved', now)},
    ${countMoves('moved')}
    select queue, (select count(*)::int from moved) as jobs from pressed`,
}

const retryMessage = 'stalled: its batch made no progress; it runs again'
const retryCause = causeOf({ what: 'stalled', code: null, message: retryMessage })

/** Lets what runs of it run again; undefined: it was not at work, or not as it was judged. */
export async function rerunStalled(
  db: Db,
  id: string,
  reason: { code: string },
  now: Date | null,
  seen: StallSeen,
): Promise<{ queue: string; jobs: number } | undefined> {
  const values = [id, now, JSON.stringify(reason), seen.fromUs, seen.progressUs, retryMessage, retryCause]
  const [row] = await db.run<{ queue: string; jobs: number }>(rerun, values)
  return row
}
