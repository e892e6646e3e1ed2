/** The page of the subject of a problem or an incident: `batch:17`, `job:42`, `provider:mail`, `jobs.stalled`; undefined if the subject has no page. */
const pages: Readonly<Record<string, string>> = {
  batch: '/batches/',
  job: '/jobs/',
  queue: '/queues/',
  worker: '/workers/',
  provider: '/providers/',
  guard: '/guards/',
}
const wholes: Readonly<Record<string, string>> = {
  'jobs.stuck': '/jobs?state=stalled',
  'jobs.stalled': '/jobs?state=stalled',
  'jobs.slow': '/jobs?state=running',
  'watchdog.late': '/settings',
  workers: '/workers',
}

export function subjectPath(subject: string): string | undefined {
  const colon = subject.indexOf(':')
  const page = pages[subject.slice(0, Math.max(0, colon))]
  // A subject may name a part of a batch: batch:17/end:1.
  const name = subject.slice(colon + 1).replace(/^(\d+)\/end:\d+$/, '$1')
  return page === undefined ? wholes[subject] : page + encodeURIComponent(name)
}
