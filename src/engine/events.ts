/** `engine.events`: what goes on, as it goes on, and again from any position. */
import { readCursor } from '../core/cursor.ts'
import type { EngineEvent, EventsFilter, Subject } from '../core/event.ts'
import { isId } from '../core/id.ts'
import { suggestion } from '../core/suggest.ts'
import { RetomaError, type Saying, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import type { Feed } from './feed.ts'
import { Follower } from './follower.ts'

export interface Events {
  /**
   * Exceptions and actions of everything, or of one job or batch with its states and progress. Begins with the first
   * `next()`, after `after` or else now. A job's stream, or a batch's, ends after its final state; any ends with `break`, with the
   * signal or with the engine.
   */
  events(filter?: EventsFilter): AsyncIterableIterator<EngineEvent>
}

const known = ['job', 'batch', 'after', 'signal']

export function createEvents(given: { db: Db; clock: Clock; feed: Feed; closing: AbortSignal }): Events {
  return {
    events(filter = {}) {
      const { of, after, signal } = check(filter)
      const ending = new AbortController()
      const end = () => ending.abort()

      async function* read(): AsyncGenerator<EngineEvent, undefined> {
        const signals = [given.closing, ...(signal ? [signal] : [])]
        if (signals.some(each => each.aborted)) return
        for (const each of signals) each.addEventListener('abort', end)
        try {
          yield* new Follower({ ...given, of, signal: ending.signal }).read(after)
        } finally {
          for (const each of signals) each.removeEventListener('abort', end)
        }
      }
      const reading = read()
      return {
        next: () => reading.next(),
        // Also while a next() waits: that one ends then.
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
    refuse('events', say('events takes { job, batch, after, signal }', 'events recebe { job, batch, after, signal }'))
  for (const option of Object.keys(filter)) {
    if (known.includes(option)) continue
    const hint = suggestion(option, known)
    refuse(option, say(`there is no such option${hint.en}`, `essa opção não existe${hint.pt}`))
  }
  const { job, batch, after, signal } = filter
  if (job !== undefined && batch !== undefined)
    refuse(
      'batch',
      say('a stream is of a job or of a batch, not of both', 'um fluxo é de um job ou de um lote, não dos dois'),
    )
  if (job !== undefined && !isId(job)) throw new RetomaError('not_found', { what: 'job', id: String(job) })
  if (batch !== undefined && !isId(batch))
    throw new RetomaError('not_found', { what: say('batch', 'lote'), id: String(batch) })
  const place = after === undefined ? undefined : readCursor(after)
  if (after !== undefined && place === undefined)
    refuse('after', say('it is the position of an earlier event', 'é a position de um evento anterior'))
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuse('signal', say('it is an AbortSignal', 'é um AbortSignal'))
  const of: Subject = { ...(job === undefined ? {} : { job }), ...(batch === undefined ? {} : { batch }) }
  return { of, after: place, signal }
}

function refuse(option: string, problem: Saying): never {
  throw new RetomaError('bad_option', { option, problem })
}
