/**
 * Defines policies for four teams, with the numbers and messages of the teams (docs/seeds.md):
 * `defineJob({ ...presets.planner, kind, run })`, and for batches `defineBatch({ ...presets.classification, name, job })`.
 */
import { type BatchOptions, hours, type JobOptions, minutes, seconds } from 'retoma'

type JobPreset = Omit<JobOptions, 'kind'>
type BatchPreset = Pick<BatchOptions<unknown>, 'stallAfter' | 'onStall' | 'maxResumes'>

const fiveThenTen = { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 }

/** Documents with an AI provider: three attempts of two minutes each. */
const classifier = { timeout: minutes(2), maxAttempts: 3, backoff: fiveThenTen } as const satisfies JobPreset

/** Batches of documents: five minutes without the end of an attempt is a stall; a person may resume the batch three times. */
const classification = { stallAfter: minutes(5), onStall: 'stall', maxResumes: 3 } as const satisfies BatchPreset

/** Generic jobs: a single attempt; if the process dies, the job fails with a fitting message. */
const planner = {
  maxAttempts: 1,
  orphanAfter: minutes(2),
  sweepEvery: minutes(5),
  onOrphan: 'fail',
  maxWait: hours(24),
  messages: {
    orphan: 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu',
    overdue: 'orphan: job PENDING há mais de 24 h; nenhum worker o pegou',
  },
} as const satisfies JobPreset

/** A queue in the database: five attempts. */
const snaps = { maxAttempts: 5, backoff: fiveThenTen } as const satisfies JobPreset

/** PDFs and bank syncs: after ten minutes without progress the job fails; otherwise three attempts. */
const documents = {
  maxAttempts: 3,
  backoff: fiveThenTen,
  stallAfter: minutes(10),
  onStall: 'fail',
  messages: { stalled: 'Processing timeout (watchdog)' },
} as const satisfies JobPreset

export const presets = { classifier, classification, planner, snaps, documents }
