/** Implements `engine.events`: streams events as they occur, or from an earlier position. */

import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import type { EventFeed } from './event-feed.ts'
import { EventReader } from './event-reader.ts'
import type { EngineEvent, EventsFilter, Subject } from './model/event.ts'
import { readCursor } from './model/event-cursor.ts'

/** The events of `engine.events`, to be read with `for await`. */
export interface EventStream extends AsyncIterableIterator<EngineEvent> {
  /**
   * Starts the stream and resolves once the first read is done: false if the stream is over with no event left to deliver.
   * Rejects where the first `next()` would reject: `not_found`.
   */
  opened(): Promise<boolean>
  /**
   * Seconds without progress of the followed job or batch, as of the last poll; null: the stream follows everything or has not
   * begun.
   */
  idleSeconds(): number | null
}

export interface Events {
  /**
   * Streams failures and actions of everything, or of a job or batch together with state and progress changes. Begins with the
   * first `next()`, after the position `after` or else now. A stream of a job or batch ends after the final state; any stream
   * ends with `break`, with the signal or with the engine.
   *
   * @example
   * for await (const event of engine.events({ batch: batch.id })) if (event.type === 'progress') console.log(event.data)
   */
  events(filter?: EventsFilter): EventStream
}

const known = ['job', 'batch', 'after', 'logs', 'signal']

export function createEvents(given: { db: Db; clock: Clock; eventFeed: EventFeed; closing: AbortSignal }): Events {
  return {
    events(filter = {}) {
      const { of, after, logs, signal } = check(filter)
      const ending = new AbortController()
      const end = () => ending.abort()
      const reader = new EventReader({ ...given, of, logs, signal: ending.signal })

      async function* read(): AsyncGenerator<EngineEvent, undefined> {
        const signals = [given.closing, ...(signal ? [signal] : [])]
        if (signals.some(each => each.aborted)) return
        for (const each of signals) each.addEventListener('abort', end)
        try {
          yield* reader.read(after)
        } finally {
          for (const each of signals) each.removeEventListener('abort', end)
        }
      }
      const reading = read()
      let first: Promise<IteratorResult<EngineEvent, undefined>> | undefined
      return {
        next() {
          const next = first ?? reading.next()
          first = undefined
          return next
        },
        async opened() {
          first ??= reading.next()
          const next = first
          next.catch(() => {}) // the caller of next() gets the error
          await Promise.race([next, reader.firstRead])
          return !reader.over || !(await next).done
        },
        idleSeconds: () => reader.idleSeconds(),
        // Also ends a pending next().
        return() {
          end()
          return reading.return(undefined)
        },
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },
  }
}

function check(filter: EventsFilter) {
  if (filter === null || typeof filter !== 'object')
    refuseOption(
      'events',
      'events takes { job, batch, after, logs, signal }',
      'events recebe { job, batch, after, logs, signal }',
    )
  refuseUnknownOptions(filter, known)
  const { job, batch, after, logs = false, signal } = filter
  if (job !== undefined && batch !== undefined)
    refuseOption(
      'batch',
      'a stream is of a job or of a batch, not of both',
      'um fluxo é de um job ou de um lote, não dos dois',
    )
  if (logs && job === undefined)
    refuseOption('logs', 'log lines are in the stream of a job', 'as linhas de log ficam no fluxo de um job')
  if (job !== undefined && !isId(job)) throw new RetomaError('not_found', { what: 'job', id: String(job) })
  if (batch !== undefined && !isId(batch))
    throw new RetomaError('not_found', { what: localized('batch', 'lote'), id: String(batch) })
  const position = after === undefined ? undefined : readCursor(after)
  if (after !== undefined && position === undefined)
    refuseOption('after', 'it is the position of an earlier event', 'é a position de um evento anterior')
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuseOption('signal', 'it is an AbortSignal', 'é um AbortSignal')
  const of: Subject = { ...(job === undefined ? {} : { job }), ...(batch === undefined ? {} : { batch }) }
  return { of, after: position, logs, signal }
}
