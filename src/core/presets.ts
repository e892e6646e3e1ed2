/**
 * Policies that five teams asked for, with their own numbers and words (docs/seeds.md): `defineJob({ ...presets.planner,
 * kind, run })`, and for batches `defineBatch({ ...presets.classification, name, job })`.
 */
import type { BatchOptions } from './batch.ts'
import { hours, minutes, seconds } from './duration.ts'
import type { JobOptions } from './job.ts'

type JobPreset = Omit<JobOptions, 'kind'>
type BatchPreset = Pick<BatchOptions<unknown>, 'stallAfter' | 'onStall' | 'maxResumes'>

const fiveThenTen = { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 }

/** Documents with an AI behind them: three tries of two minutes each. */
const classifier = { timeout: minutes(2), attempts: 3, backoff: fiveThenTen } as const satisfies JobPreset

/** Batches of those: five minutes without the end of any attempt is a stall; a person may resume it three times. */
const classification = { stallAfter: minutes(5), onStall: 'stall', maxResumes: 3 } as const satisfies BatchPreset

/**
 * Quotes: without a sign for ten minutes it goes on from its checkpoint by itself, as often as it takes, for a day. Looked
 * for at every tick, not every five minutes as they asked: so those of a dead worker go on within 30 s.
 */
const quotes = {
  attempts: 1_000_000,
  timeout: hours(24),
  stallAfter: minutes(10),
  onStall: 'retry',
  maxAge: hours(24),
  messages: { overdue: 'ERROR: processing for more than 24 h' },
} as const satisfies JobPreset

/** Generic jobs: one try; when the process dies the job is failed, with words that say so. */
const planner = {
  attempts: 1,
  orphanAfter: minutes(2),
  sweepEvery: minutes(5),
  onOrphan: 'fail',
  maxAge: hours(24),
  messages: {
    orphan: 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu',
    overdue: 'orphan: job PENDING sem worker há mais de 24 h',
  },
} as const satisfies JobPreset

/** A queue in the database: five tries. */
const snaps = { attempts: 5, backoff: fiveThenTen } as const satisfies JobPreset

/** PDFs and bank syncs: without a sign for ten minutes it is failed; three tries otherwise. */
const documents = {
  attempts: 3,
  backoff: fiveThenTen,
  stallAfter: minutes(10),
  onStall: 'fail',
  messages: { stalled: 'Processing timeout (watchdog)' },
} as const satisfies JobPreset

export const presets = { classifier, classification, quotes, planner, snaps, documents }
