/** The page of the subject of an incident: `batch:17`, `job:42`, `queue:mail`, `jobs.stuck`; undefined if the subject has no page. */
const pages: Readonly<Record<string, string>> = { batch: '/batches/', job: '/jobs/', queue: '/queues/' }
const wholes: Readonly<Record<string, string>> = { 'jobs.stuck': '/jobs?state=stalled', 'watchdog.late': '/settings' }

export function subjectPath(subject: string): string | undefined {
  const colon = subject.indexOf(':')
  const page = pages[subject.slice(0, Math.max(0, colon))]
  return page === undefined ? wholes[subject] : page + encodeURIComponent(subject.slice(colon + 1))
}
