/**
 * What a main loop and its heart tell each other without a word: numbers in memory that both see. Writing one costs
 * nothing, and a loop that stands still shows by what it no longer writes.
 *
 * Instants are by `sharedElapsed`. Each sign has one writer; only `lagMs` is set back by its reader.
 */
export const sign = {
  /** By the main loop: when it last came round. */
  turnAt: 0,
  /** By the main loop: the longest it was late since the last beat. */
  lagMs: 1,
  /** By the main loop: handlers that run, and those abandoned. */
  running: 2,
  abandoned: 3,
  /** By the main loop: how long the oldest write had waited when it last came round. */
  unwrittenMs: 4,
  /** By the main loop: when the first attempt is out of time; 0 when none runs. */
  dueAt: 5,
  /** By the main loop: the job that runs alone, and its attempt; 0 when it is not known to. */
  soleJob: 6,
  soleAttempt: 7,
  /** By the heart: the job on the stack of a blocked loop, and its attempt; 0 when it cannot be told. */
  blockedJob: 8,
  blockedAttempt: 9,
  /** By the heart: when its last beat landed. */
  beatAt: 10,
  /** By the heart: 1 once it hears what it is told. */
  hears: 11,
  /** By the main loop: when whoever could block it is out of time, whichever it is; 0 when nobody could. */
  allDueAt: 12,
  /** By the heart: when it last looked; and after which look the whole process stood still, and for how long (stops.ts). */
  lookedAt: 13,
  stoppedFrom: 14,
  stoppedMs: 15,
} as const

const count = Object.keys(sign).length

/** Free slots follow, one number for each queue. */
export type Signs = Float64Array

export const newSigns = (queues: number): Signs => new Float64Array(new SharedArrayBuffer(8 * (count + queues)))

export const freeOf = (signs: Signs, queue: number): number => signs[count + queue]!

export function setFree(signs: Signs, queue: number, free: number): void {
  signs[count + queue] = free
}

/** How often a main loop says that it comes round. */
export const turnMs = 200
