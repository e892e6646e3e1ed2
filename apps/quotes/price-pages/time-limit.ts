/**
 * Aborts with `signal`, or after `ms`. `AbortSignal.any` of the two would not do: on Node 20 the garbage collector takes a timeout that
 * nothing but the combined signal refers to, and the combined signal never aborts.
 */
export function withTimeLimit(signal: AbortSignal, ms: number): AbortSignal {
  const limit = AbortSignal.timeout(ms)
  const either = new AbortController()
  limit.addEventListener('abort', () => either.abort(limit.reason), { once: true })
  signal.addEventListener('abort', () => either.abort(signal.reason), { once: true, signal: limit })
  if (signal.aborted) either.abort(signal.reason)
  return either.signal
}
