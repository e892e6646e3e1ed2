/**
 * Everything attempts write goes through here, each sort of it in flushes of its own (group-commit.ts). The writes of one
 * attempt keep their order, because each is awaited before the next: an attempt ends only when its steps have.
 *
 * Invariant: `settle` resolves with 'landed' once the outcome is in the database, with 'lost' once it is certain that the
 * lease is lost, and with 'left' or 'refused' when nothing could be written: the job is still ours and still running.
 */
import { asText, cleanText } from '../core/json.ts'
import type { Failure } from '../core/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { type Checkpoint, type Note, noteProgress, saveCheckpoints } from '../store/checkpoint.ts'
import type { Db } from '../store/db.ts'
import { type MovedBatch, type Pausing, pauseBatches } from '../store/provider-turn.ts'
import { type Settle, settleJobs } from '../store/settle.ts'
import { createGroupCommit, type Landed } from './group-commit.ts'

export interface Committer {
  settle(settle: Settle): Promise<Landed>
  /** 'refused': PostgreSQL does not take the value. */
  save(checkpoint: Checkpoint): Promise<Landed>
  note(note: Note): Promise<Landed>
  /** The batch of that job stands still, if the job is still ours. */
  pause(pausing: Pausing): Promise<Landed>
  /** For how long the oldest write has waited. */
  readonly unwrittenMs: number
  /** From now on a failing database is no longer waited for: what is unwritten is left to the watchdog. */
  giveUp(): void
}

export function createCommitter(options: {
  db: Db
  worker: string
  clock: Clock
  log: Log
  /** That batch was paused by one of its jobs. */
  paused: (batch: MovedBatch) => void
}): Committer {
  const { db, worker, clock, log, paused } = options
  const settles = createGroupCommit<Settle>({
    clock,
    log,
    what: 'outcomes',
    write: items => settleJobs(db, worker, items, clock.instant()),
    weigh: lengthOf,
    oneOfJob: true,
    instead,
  })
  const checkpoints = createGroupCommit<Checkpoint>({
    clock,
    log,
    what: 'checkpoints',
    write: items => saveCheckpoints(db, worker, items, clock.instant()),
    weigh: ({ value }) => value.length,
    instead: () => undefined,
  })
  const notes = createGroupCommit<Note>({
    clock,
    log,
    what: 'notes of progress',
    write: items => noteProgress(db, worker, items, clock.instant()),
    weigh: ({ resume, progress }) => (resume?.length ?? 0) + (progress?.length ?? 0),
    oneOfJob: true,
    instead: () => undefined,
  })

  const pauses = createGroupCommit<Pausing>({
    clock,
    log,
    what: 'pauses of batches',
    async write(items) {
      for (const batch of await pauseBatches(db, worker, items, clock.instant())) paused(batch)
      return new Set(items)
    },
    weigh: ({ reason }) => reason.length,
    instead: () => undefined,
  })

  const all = [settles, checkpoints, notes, pauses]

  /**
   * The outcome that PostgreSQL refuses becomes a failure of that attempt, and only that one. Where the failure is refused
   * as well, the job ends without it; it must not run again for ever because its end cannot be told.
   */
  function instead({ id, attempt, outcome }: Settle, error: unknown): Settle | undefined {
    if (outcome.state === 'refused') {
      log.error({ job: id, attempt, err: error }, 'PostgreSQL takes no end of this job; it stays with this worker')
      return undefined
    }
    if (outcome.state === 'failed' && outcome.failure.code === 'bad_value') {
      log.error(
        { job: id, attempt, err: error },
        'PostgreSQL refused the failure of this attempt; the job ends without it',
      )
      return { id, attempt, outcome: { state: 'refused' } }
    }
    const message = cleanText(`bad_value: PostgreSQL refused the outcome: ${asText(error)}`)
    const failure: Failure = { what: 'error', message, code: 'bad_value', stack: null }
    return { id, attempt, outcome: { state: 'failed', failure } }
  }

  return {
    settle: settle => settles.add(settle),
    save: checkpoint => checkpoints.add(checkpoint),
    note: note => notes.add(note),
    pause: pausing => pauses.add(pausing),
    get unwrittenMs() {
      const now = clock.elapsed()
      return Math.max(...all.map(each => now - (each.waitingSince ?? now)))
    },
    giveUp() {
      for (const each of all) each.giveUp()
    },
  }
}

function lengthOf({ outcome }: Settle): number {
  if (outcome.state === 'succeeded') return outcome.result.length
  const failure = 'failure' in outcome ? outcome.failure : null
  return failure === null ? 0 : failure.message.length + (failure.stack?.length ?? 0)
}
