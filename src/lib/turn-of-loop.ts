/**
 * Long synchronous work in slices. Each slice of the process waits for `turnOfLoop` first: one slice runs at a time, with some turns of the
 * event loop in between, in the order of the calls. So requests that are cheap, such as GET /health, wait for one slice and not for all of them.
 */
let last: Promise<void> = Promise.resolve()

/** A request over a new connection takes a turn to be accepted and one to be read. */
const turnsBetween = 3

/** Resolves some turns of the event loop after the promise of the caller before. */
export function turnOfLoop(): Promise<void> {
  last = last.then(async () => {
    for (let turn = 0; turn < turnsBetween; turn++) await new Promise(resolve => setImmediate(resolve))
  })
  return last
}

/** Characters or bytes that one slice may handle without a noticeable wait for others. */
export const sliceLength = 64 * 1024
