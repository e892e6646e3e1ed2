/**
 * Answers a read over HTTP while the database is frozen: connections stay open, and statements get no answer. The deadline of a statement
 * is 30 s, for slow statements; a person in front of a page needs to hear sooner that the database does not answer.
 *
 * Invariant: a read is given up only if the database does not answer a ping either, so a slow read keeps the deadline of its statements.
 * The response of a read that was given up is cancelled: a stream of events must not stay open without a client.
 */
import { databaseTimeout } from '../../errors/database-unreachable.ts'
import { systemClock } from '../../lib/clock.ts'

/** Milliseconds without a response after which the database is pinged, and again after each answered ping. */
const waitLimit = 5000
/** The deadline of the ping. */
const pingMs = 2000

export type ReadWatch = (response: Promise<Response>) => Promise<Response>

/** `ping` rejects within 2 s if the database does not answer. Reads that wait at the same time share a ping. */
export function createReadWatch(ping: () => Promise<void>): ReadWatch {
  let pinged: Promise<boolean> | undefined
  const isFrozen = () => {
    pinged ??= ping()
      .then(
        () => false,
        () => true,
      )
      .finally(() => {
        pinged = undefined
      })
    return pinged
  }

  /** Resolves once the database does not answer; does not resolve if `over` aborts before. */
  async function untilFrozen(over: AbortSignal): Promise<void> {
    do await systemClock.sleep(waitLimit, over)
    while (!over.aborted && !(await isFrozen()))
    if (over.aborted) await new Promise(() => {})
  }

  return async response => {
    const over = new AbortController()
    try {
      const frozen = untilFrozen(over.signal).then(() => undefined)
      const answer = await Promise.race([response, frozen])
      if (answer !== undefined) return answer
      response.then(late => late.body?.cancel()).catch(() => {})
      throw databaseTimeout(waitLimit + pingMs, false)
    } finally {
      over.abort()
    }
  }
}
