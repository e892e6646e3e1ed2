/**
 * Limits the requests at the same time to a provider or to a host, over all workers. A process that dies in the middle loses its turns as
 * soon as another worker has the job, and after `longest` at the latest. While the database is away, nobody gets a turn, and the wait costs no
 * attempt.
 */
import { randomUUID } from 'node:crypto'
import { type Duration, type Engine, minutes, providerWait, retryWhileDatabaseAway, seconds } from 'retoma'
import { clockOf } from 'retoma/http'
import type { HostTurns } from './providers/types.ts'
import { leaveTurn, type TurnOwner, takeTurn } from './store/turns.ts'

/** Less than the ten minutes after which a quote without progress is stuck. */
const longestWait = minutes(5)
const firstLook = 20
const slowestLook = 500

export interface TurnOptions {
  limit: number
  /** The attempt that sends the request, such as `ctx`. */
  owner: TurnOwner
  /** Longer than any request. */
  longest: Duration
  signal: AbortSignal
}

/**
 * Resolves once there is a turn, with the function that gives the turn back. Rejects with the reason of `signal`. After five minutes
 * without a turn the job is deferred: the quote gives its slot to others, no attempt is charged, and the quote is not stuck.
 */
export async function enterTurn(
  engine: Engine,
  name: string,
  { limit, owner, longest, signal }: TurnOptions,
): Promise<() => Promise<void>> {
  const holder = randomUUID()
  const clock = clockOf(engine)
  const began = clock.elapsed()
  for (let pause = firstLook; ; pause = Math.min(pause * 2, slowestLook)) {
    signal.throwIfAborted()
    const take = () => takeTurn(engine, name, { limit, holder, longestMs: longest, owner })
    const slot = await retryWhileDatabaseAway(engine, take, signal)
    // A turn that cannot be given back ends by itself.
    if (slot !== undefined) return () => leaveTurn(engine, name, { slot, holder }).catch(() => {})
    if (clock.elapsed() - began > longestWait) throw providerWait({ retryAfter: seconds(10), message: `busy: ${name}` })
    await clock.sleep(pause, signal)
  }
}

/** Runs `work` with a turn. */
export async function withTurn<T>(
  engine: Engine,
  name: string,
  options: TurnOptions,
  work: () => Promise<T>,
): Promise<T> {
  const leave = await enterTurn(engine, name, options)
  try {
    return await work()
  } finally {
    await leave()
  }
}

/** At most two requests at once to each host. */
export const hostTurns = (
  engine: Engine,
  owner: TurnOwner,
  longest: Duration,
  /** Called at each turn. */
  progress: () => void = () => {},
): HostTurns => ({
  enter: async (host, signal) => {
    const leave = await enterTurn(engine, `host:${host}`.slice(0, 200), { limit: 2, owner, longest, signal })
    progress()
    return leave
  },
})
