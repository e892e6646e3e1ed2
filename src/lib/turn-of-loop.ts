/**
 * Long synchronous work in slices. Each slice of the process waits for `turnOfLoop` first: one slice runs per turn of the event
 * loop, in the order of the calls. So requests that are cheap, such as GET /health, wait for one slice and not for all of them.
 */
let last: Promise<void> = Promise.resolve()

/** Resolves in a later turn of the event loop, and in no turn in which another caller's promise resolves. */
export function turnOfLoop(): Promise<void> {
  last = last.then(() => new Promise(resolve => setImmediate(resolve)))
  return last
}

/** Characters or bytes that one slice may handle without a noticeable wait for others. */
export const sliceLength = 64 * 1024
