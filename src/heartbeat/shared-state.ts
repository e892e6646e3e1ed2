/**
 * Shares state between the main loop and the heartbeat thread: numbers in shared memory. A write costs nothing, and a blocked loop shows by
 * missing writes.
 *
 * Instants are by `sharedElapsed`. Each number has a single writer; only `lagMs` is reset by its reader.
 */
export const slot = {
  /** Written by the main loop: the instant of the last turn. */
  turnAt: 0,
  /** Written by the main loop: the longest delay of a turn since the last heartbeat. */
  lagMs: 1,
  /** Written by the main loop: the number of running handlers, and of abandoned handlers. */
  running: 2,
  abandoned: 3,
  /** Written by the main loop: the age of the oldest write at the last turn. */
  writeLagMs: 4,
  /** Written by the main loop: the first deadline; 0 if no attempt runs. */
  dueAt: 5,
  /** Written by the main loop: job and attempt of the only running handler; 0 if unknown. */
  soleJob: 6,
  soleAttempt: 7,
  /** Written by the heartbeat thread: job and attempt on the stack of a blocked loop; 0 if unknown. */
  blockedJob: 8,
  blockedAttempt: 9,
  /** Written by the heartbeat thread: the instant of the last heartbeat. */
  heartbeatAt: 10,
  /** Written by the heartbeat thread: 1 once the thread receives messages. */
  listens: 11,
  /** Written by the main loop: the latest deadline of all in-process handlers; 0 if none run. */
  allDueAt: 12,
  /**
   * Written by the heartbeat thread: the instant of the last check; the check before a pause of the whole process, and the length of this
   * pause (process-pauses.ts).
   */
  checkedAt: 13,
  stoppedFrom: 14,
  stoppedMs: 15,
} as const

const count = Object.keys(slot).length

/** Free slots follow, a number for each queue. */
export type SharedState = Float64Array

export const newSharedState = (queues: number): SharedState =>
  new Float64Array(new SharedArrayBuffer(8 * (count + queues)))

export const freeOf = (sharedState: SharedState, queue: number): number => sharedState[count + queue]!

export function setFree(sharedState: SharedState, queue: number, free: number): void {
  sharedState[count + queue] = free
}

/** The interval at which a main loop records a turn. */
export const turnMs = 200
