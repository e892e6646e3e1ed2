/**
 * The queues in which jobs of a kind may wait: the queue of the kind, and the queues that an enqueue has named. The second come from the last
 * count of waiting jobs (metrics/sql/job-count-sample.ts), a few seconds old: a search that runs again and again finds every job.
 */

/** An SQL array. `kind` and `queue`: the name of the kind, and the queue of the kind. */
export const queuesOf = (kind: string, queue: string): string =>
  `array(select ${queue} union select s.queue from retoma.job_count_sample s where s.kind = ${kind})`

/** A query of one column: the queues of the kinds in the array `kinds`. */
export const queuesOfKinds = (kinds: string): string => `
  select k.queue from retoma.kind k where k.name = any (${kinds})
  union
  select s.queue from retoma.job_count_sample s where s.kind = any (${kinds})`
