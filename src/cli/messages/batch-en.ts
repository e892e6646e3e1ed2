/** Messages of the command line about batches, in English; batch-pt.ts has the same messages. */
import { whole } from '../../lib/values/format-number.ts'

const n = (number: number) => whole(number, 'en')
const items = (number: number) => (number === 1 ? '1 item' : `${n(number)} items`)

const leftOut = (conflicts: number) => {
  if (conflicts === 0) return ''
  return conflicts === 1
    ? '; 1 is left as it is: another job has its key'
    : `; ${n(conflicts)} are left as they are: other jobs have their keys`
}

export const batch = {
  columns: ['id', 'batch', 'state', 'done', 'items', 'failed', 'rate', 'left', 'created'],
  none: 'no batches',
  noneSuch: 'no batches with that filter',
  noneAfter: 'no more batches',
  moreOpen: (command: string) => `and more: ${command}`,
  labels: {
    batch: 'batch',
    state: 'state',
    progress: 'progress',
    items: 'items',
    pace: 'rate',
    left: 'time left',
    last: 'last item',
    cost: 'cost',
    resumes: 'resumes',
    kind: 'kind',
    priority: 'priority',
    key: 'key',
    created: 'created',
    finished: 'finished',
    completeJob: 'at its end',
  },
  named: (id: string, name: string) => `${id} (${name})`,
  of: (ended: string, total: string) => `${ended} of ${total}`,
  soFar: (ended: string, total: string) => `${ended} of ${total} so far`,
  ofMost: (count: number, most: number) => `${count} of ${most}`,
  counts: {
    succeeded: (number: number) => `${n(number)} succeeded`,
    failed: (number: number) => `${n(number)} failed`,
    skipped: (number: number) => `${n(number)} skipped`,
    cancelled: (number: number) => `${n(number)} cancelled`,
    stalled: (number: number) => `${n(number)} stalled`,
    running: (number: number) => `${n(number)} running`,
    waiting: (number: number) => `${n(number)} waiting`,
  },
  noItems: 'none',
  rate: (number: string, unit: string) => `${number} items/${unit}`,
  left: (span: string) => `about ${span} left`,
  about: (span: string) => `about ${span}`,
  last: (ref: string, ago: string) => `${ref}, ${ago}`,
  inQueue: (kind: string, queue: string) => `${kind}, in queue ${queue}`,
  completeJob: (id: string) => `job ${id}`,
  state: {
    submitting: (total: number) => `being submitted: ${items(total)} so far`,
    waiting: 'waiting: nothing of it has started yet',
    running: 'running',
    pausedByPerson: 'paused by a person: nothing more of it starts',
    pausedByPolicy: (failed: number, ended: number) =>
      `paused by its stopAfter: ${n(failed)} of the ${items(ended)} that ended had failed`,
    pausedByProvider: (provider: string, words: string) =>
      `paused: provider ${provider} has stopped: ${words}; it is asked once a minute`,
    pausedBecause: (words: string) => `paused: ${words}`,
    stalled: 'stalled: no item of it has ended for too long; it waits for a person',
    stalledBecause: (code: string) => `stalled (${code}): it waits for a person`,
    failed: (resumes: number) =>
      `failed: it stalled again after ${resumes === 1 ? '1 resume' : `${resumes} resumes`}; what had not ended failed with it`,
    failedBecause: (code: string) => `failed (${code})`,
    empty: 'over: it had no items',
    succeeded: 'over: every item has ended',
    completedWithFailures: (failed: number, cancelled: number) =>
      `over: every item has ended, ${n(failed)} of them failed${cancelled === 0 ? '' : `, ${n(cancelled)} cancelled`}`,
    cancelled: 'cancelled',
    cancelling: 'cancelled: the last of its items follow',
  },
  causes: 'failed items by cause:',
  causeColumns: ['items', 'cause', 'such as'],
  moreCauses: (count: number, command: string) =>
    `${count === 1 ? '1 more cause' : `${count} more causes`}: ${command}`,
  next: 'next:',
  hints: {
    resume: 'goes on',
    failures: 'shows what went wrong',
    retryFailed: 'runs the failed ones again',
    continueSubmit: 'if its submit broke off: submit the same list with the same key, or give it up:',
    giveUpSubmit: 'if its submit broke off, give it up:',
  },
  ctrlC: 'Ctrl-C stops the watching, not the batch',
  away: (problem: string) => `${problem}; trying again`,
  awayFor: (span: string, problem: string) => `trying again for ${span}: ${problem}`,
  back: 'the database answers again',
  noFailures: (id: string) => `batch ${id} has no failed items`,
  group: (count: string, one: boolean, ago: string) => `${count} ${one ? 'item' : 'items'}, last ${ago}`,
  refs: (refs: string) => `such as ${refs}`,
  runAgain: (command: string) => `run them again: ${command}`,
  itemColumns: ['id', 'ref', 'state', 'attempts', 'error'],
  noneOfItems: 'no items',
  noneOfSuchItems: 'no items with that filter',
  noMoreItems: 'no more items',
  paused: (id: string) => `batch ${id} is paused: nothing more of it starts, what runs goes on to its end`,
  pausedAlready: (id: string) => `batch ${id} was paused already`,
  resumedFromPause: (id: string, count: number) => `batch ${id} goes on with ${items(count)}`,
  resumed: (id: string, count: number, resumes: number, most: number) =>
    `batch ${id} goes on with ${items(count)}; that was resume ${resumes} of ${most}`,
  resumedAlready: (id: string, state: string) =>
    `batch ${id} is ${state}, neither paused nor stalled; nothing to resume`,
  cancelled: (id: string) => `batch ${id} is cancelled: what of it has not ended does not run any more`,
  cancelledAlready: (id: string) => `batch ${id} was cancelled already`,
  retried: (id: string, count: number, conflicts: number) =>
    `batch ${id}: ${items(count)} that failed ${count === 1 ? 'waits' : 'wait'} to run again${leftOut(conflicts)}`,
  allConflict: (id: string, conflicts: number) =>
    `batch ${id}: nothing runs again; ${conflicts === 1 ? 'another job has the key of the one that failed' : `other jobs have the keys of the ${n(conflicts)} that failed`}`,
  retriedNone: (id: string) => `batch ${id} has no failed items; nothing to do`,
  retriedNoneOfCause: (id: string, cause: string) =>
    `batch ${id} has no failed items with the cause "${cause}"; nothing to do`,
  goesOnWithout: (id: string) => `batch ${id} goes on; no item of it had to be run again`,
  stillPaused: (id: string) => `it is paused; go on: retoma batch resume ${id}`,
  priority: (id: string, priority: number, moved: number) =>
    `batch ${id} has priority ${priority}; ${items(moved)} that wait moved`,
  priorityAlready: (id: string, priority: number) => `batch ${id} had priority ${priority} already`,
  skippedByHand: 'skipped by a person',
  skipped: (id: string) => `item ${id} is skipped`,
  skippedAlready: (id: string) => `item ${id} was skipped already`,
  item: 'item of a batch',
  batch: 'batch',
}
