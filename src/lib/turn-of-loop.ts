/**
 * Yields between slices of long synchronous work. Each slice waits for `turnOfLoop` first: slices of the process run one at a time, in
 * the order of the calls, with some turns of the event loop in between. A cheap request, such as GET /health, then waits for a single
 * slice and not for all slices.
 */
let last: Promise<void> = Promise.resolve()

/**
 * libuv accepts a single new connection in a turn, and the next turn reads the request. With few turns between long slices, new
 * connections would come faster than the process accepts connections. A turn without work takes some 10 µs.
 */
const turnsBetween = 8

/** Resolves some turns of the event loop after the promise of the previous caller. */
export function turnOfLoop(): Promise<void> {
  last = last.then(async () => {
    for (let turn = 0; turn < turnsBetween; turn++) await new Promise(resolve => setImmediate(resolve))
  })
  return last
}

/** Characters or bytes that a slice may handle without a noticeable wait for others. */
export const sliceLength = 64 * 1024

/** Characters of JSON that a slice parses: some milliseconds for the most expensive JSON, which has many names. */
export const jsonSliceLength = 128 * 1024
