/**
 * Long synchronous work in slices. Each slice of the process waits for `turnOfLoop` first: one slice runs at a time, with some turns of the
 * event loop in between, in the order of the calls. So requests that are cheap, such as GET /health, wait for one slice and not for all of them.
 */
let last: Promise<void> = Promise.resolve()

/**
 * A turn of the loop accepts one new connection (libuv), and the next turn reads its request: with few turns between long slices,
 * connections would come faster than the process accepts connections. A turn in which nothing happens takes some 10 µs.
 */
const turnsBetween = 8

/** Resolves some turns of the event loop after the promise of the caller before. */
export function turnOfLoop(): Promise<void> {
  last = last.then(async () => {
    for (let turn = 0; turn < turnsBetween; turn++) await new Promise(resolve => setImmediate(resolve))
  })
  return last
}

/** Characters or bytes that one slice may handle without a noticeable wait for others. */
export const sliceLength = 64 * 1024

/** Characters of JSON that one slice parses: some milliseconds for the most expensive JSON, which is many names. */
export const jsonSliceLength = 128 * 1024
