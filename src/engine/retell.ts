/**
 * What a stored event is to one reader: nothing here is asked of anybody. Usually one event; but what was pressed on the
 * job or batch that is followed tells the state it led to as well, and a state that no event told is told before the next.
 *
 * Invariant: the states that a batch's reader is told form a chain, each `from` the `to` before it, wherever it went away
 * and came back in between: each event's place says what of this has been told.
 */
import type { Place } from '../core/cursor.ts'
import type { EngineEvent, Subject } from '../core/event.ts'
import { phaseOf, stateOf } from '../core/glance.ts'
import type { EventRow } from '../store/read-event.ts'

/** An event that has not got its position yet. */
export type Told = EngineEvent extends infer E ? (E extends EngineEvent ? Omit<E, 'position'> : never) : never

/** An event, and how the reader's place changes with it. */
export interface Step {
  told: Told
  change: Partial<Place>
}

/** `place`: where the reader is before it. */
export function retell({ pos, at, type, jobId, batchId, data }: EventRow, of: Subject, place: Place): Step[] {
  const ids = { at: new Date(at), jobId, batchId }
  const itself = { type, ...ids, data } as Told
  const isItem = type === 'state' && jobId !== null && batchId !== null && of.job === undefined
  if (isItem) {
    const { to, ...more } = data
    return [{ told: { type: 'item', ...ids, data: { ...more, state: to } } as Told, change: { pos } }]
  }
  const { from, to, attempt } = data
  const isOfIt = of.job !== undefined || (of.batch !== undefined && jobId === null)
  if (!isOfIt || typeof from !== 'string' || typeof to !== 'string') return [{ told: itself, change: { pos } }]

  const state = (data: { from: string; to: string; reason: string | null }): Told => ({ type: 'state', ...ids, data })
  const phase = phaseOf(to, of.job && attempt)
  const wasTold = place.half === true && place.pos === pos
  const steps: Step[] = []
  // A batch goes from submitting to running without an event.
  const before = stateOf(place.phase)
  if (of.batch !== undefined && !wasTold && before !== null && before !== from)
    steps.push({ told: state({ from: before, to: from, reason: null }), change: { phase: phaseOf(from) } })
  if (type !== 'action' || from === to) return [...steps, { told: itself, change: { pos, phase } }]
  // The reader may go away between these two; then it gets the second one when it comes back.
  if (!wasTold) steps.push({ told: itself, change: { pos, half: true } })
  steps.push({ told: state({ from, to, reason: 'person' }), change: { pos, phase } })
  return steps
}
