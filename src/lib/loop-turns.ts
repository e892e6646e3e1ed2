/**
 * Shares the event loop between long work and new connections.
 *
 * Long synchronous work runs in slices. Each slice waits for `turnOfLoop` first: one slice runs at a time, in the order of the calls, with
 * some turns of the event loop in between. So a cheap request, such as GET /health, waits for one slice and not for all slices.
 *
 * A turn of the loop accepts at most one new connection (libuv). If each turn also worked on a request, a flood of connections would wait
 * in the accept queue of the kernel for as many turns. So slices and new requests wait while connections arrive (`afterAccepting`).
 */
let last: Promise<void> = Promise.resolve()

/** An empty turn takes about 10 µs. */
const turnsBetween = 8

/** Resolves some turns of the event loop after the promise of the caller before. */
export function turnOfLoop(): Promise<void> {
  last = last.then(async () => {
    for (let turn = 0; turn < turnsBetween; turn++) await nextTurn()
    await afterAccepting()
  })
  return last
}

const nextTurn = () => new Promise<void>(resolve => setImmediate(resolve))

/** Connections that were accepted since `afterAccepting` last looked. */
let accepted = 0
let accepting: Promise<void> | undefined
/** A flood that does not end delays requests by so many turns at most. */
const mostTurns = 200

/** A server calls this for each connection that the server accepts. */
export function connectionAccepted(): void {
  accepted++
}

/** Resolves after a turn that accepted no connection. Undefined: no connection was accepted lately, so nothing delays the caller. */
export function afterAccepting(): Promise<void> | undefined {
  if (accepted > 0) accepting ??= untilNoneIsAccepted()
  return accepting
}

async function untilNoneIsAccepted(): Promise<void> {
  for (let turn = 0; turn < mostTurns && accepted > 0; turn++) {
    accepted = 0
    // Two: the promise of the first resolves before the loop looks for connections.
    await nextTurn()
    await nextTurn()
  }
  accepted = 0
  accepting = undefined
}

/** Characters or bytes that one slice may handle without a noticeable wait for others. */
export const sliceLength = 64 * 1024

/** Characters of JSON that one slice parses: some milliseconds for the most expensive JSON, which is many names. */
export const jsonSliceLength = 128 * 1024
