/**
 * Derives the events a reader gets from a stored event; a pure function. Usually a single event results; but an action on the
 * followed job or batch also yields the state it led to, and a state without a stored event is emitted before the next event.
 *
 * Invariant: the state events of a batch form a chain, each `from` equal to the previous `to`, even if the reader left and came
 * back in between: the position of each event records the part already delivered.
 */

import type { EngineEvent, Subject } from './model/event.ts'
import type { EventPosition } from './model/event-cursor.ts'
import { phaseOf, stateOf } from './model/followed-snapshot.ts'
import type { EventRow } from './sql/read-events.ts'

/** An event without its position. */
export type UnpositionedEvent = EngineEvent extends infer E
  ? E extends EngineEvent
    ? Omit<E, 'position'>
    : never
  : never

/** An event, and the change of the reader's position. */
export interface DerivedStep {
  event: UnpositionedEvent
  change: Partial<EventPosition>
}

/** `position`: the reader's position before the event. */
export function deriveEvents(
  { seq, at, type, jobId, batchId, data }: EventRow,
  of: Subject,
  position: EventPosition,
): DerivedStep[] {
  const ids = { at: new Date(at), jobId, batchId }
  const itself = { type, ...ids, data } as UnpositionedEvent
  const isItem = type === 'state' && jobId !== null && batchId !== null && of.job === undefined
  if (isItem) {
    const { to, ...more } = data
    return [{ event: { type: 'item', ...ids, data: { ...more, state: to } } as UnpositionedEvent, change: { seq } }]
  }
  const { from, to, attempt } = data
  const isOfIt = of.job !== undefined || (of.batch !== undefined && jobId === null)
  if (!isOfIt || typeof from !== 'string' || typeof to !== 'string') return [{ event: itself, change: { seq } }]

  const state = (data: { from: string; to: string; reason: string | null }): UnpositionedEvent => ({
    type: 'state',
    ...ids,
    data,
  })
  const phase = phaseOf(to, of.job && attempt)
  const wasPublished = position.half === true && position.seq === seq
  const steps: DerivedStep[] = []
  // A batch changes from `submitting` to `running` without an event.
  const before = stateOf(position.phase)
  if (of.batch !== undefined && !wasPublished && before !== null && before !== from)
    steps.push({ event: state({ from: before, to: from, reason: null }), change: { phase: phaseOf(from) } })
  if (type !== 'action' || from === to) return [...steps, { event: itself, change: { seq, phase } }]
  // The reader may leave between the two events; the reader then gets the second event after coming back.
  if (!wasPublished) steps.push({ event: itself, change: { seq, half: true } })
  steps.push({ event: state({ from, to, reason: 'person' }), change: { seq, phase } })
  return steps
}
