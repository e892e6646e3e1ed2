/** Messages of the command line around an explanation, in English; explain-pt.ts has the same messages. */
export const explain = {
  worker: 'worker',
  workerIs: (id: string, host: string, pid: number, heartbeatAgo: string) =>
    `${id} on ${host}, pid ${pid}, last heartbeat ${heartbeatAgo}`,
  workerGone: (id: string) => `${id}, of which nothing is left`,
  items: (count: number) => (count === 1 ? '1 item of it' : `${count} items of it`),
  blocked: 'blocked',
  blockedFor: (span: string) => `for ${span}, at`,
  noStack: 'its stack could not be read',
  crashReport: 'died of',
  failure: 'last failure',
  failed: (attempt: number, type: string, ago: string, message: string) =>
    `attempt ${attempt}, ${type}, ${ago}: ${message}`,
  evidence: 'evidence',
  more: (lines: number) => `… ${lines} more lines: --json has them`,
  todo: 'what to do',
  what: 'job, batch or queue',
}
