/** Messages of the command line about the watchdog and its findings, in English. watchdog-pt.ts has the same messages. */
export const watch = {
  watching: (version: string) => `Retoma ${version} watches`,
  allIsWell: 'all is well: nothing was to be put right',
  dead: (workers: string) => `workers declared dead: ${workers}`,
  recovered: (jobs: string) => `jobs of dead workers put right: ${jobs}`,
  timedOut: (jobs: string) => `jobs out of time, ended: ${jobs}`,
  stalled: (jobs: string) => `jobs without progress: ${jobs}`,
  overdue: (jobs: string) => `jobs past their maxAge or maxWait, failed: ${jobs}`,
  batch: (id: string, state: string, noWorker: boolean) =>
    `batch ${id} made no progress${noWorker ? ' (no worker is alive)' : ''}: it is ${state}`,
  findings: 'found:',
  hung: (worker: string, job: string | null, since: string) =>
    `hung: worker ${worker} is blocked, ${since}${job === null ? '' : `, in job ${job}`}`,
  slow: (job: string, kind: string, since: string) => `slow: job ${job} (${kind}) should have ended, ${since}`,
  starved: (queue: string, kind: string, noWorker: boolean, since: string) =>
    `starved: ready ${since}, and no live worker takes ${noWorker ? `queue ${queue} (${kind})` : `${kind} of queue ${queue}`}`,
  help: {
    watchdog:
      'check workers, jobs, batches, schedules and guards, and run no jobs; every worker and server checks, too',
    watchdogOnce: 'one pass and end, for an outside cron; ten seconds more when a worker is silent',
  },
}
