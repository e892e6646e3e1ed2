/**
 * Where a reader of events is: the last position it has passed, and what it last saw of the job or batch it follows. That
 * second part is why a reader that goes on later neither repeats a final state nor misses it. A text that callers only
 * hand back.
 */
export interface Place {
  pos: number
  /** The state it was in, with a job's attempt; null: not seen yet. */
  phase: string | null
  /** Its progress, likewise. */
  stamp: string | null
  /** What was pressed at `pos` has been told, the state it led to has not. */
  half?: boolean
}

const form = /^(\d{1,16})(h?)(?:~([a-z\d.]*)~([\d.]*))?$/

export const cursorOf = ({ pos, phase, stamp, half }: Place): string => {
  const place = half ? `${pos}h` : String(pos)
  return phase === null && stamp === null ? place : `${place}~${phase ?? ''}~${stamp ?? ''}`
}

/** undefined: no text of ours. */
export function readCursor(text: unknown): Place | undefined {
  const match = typeof text === 'string' ? form.exec(text) : null
  if (match === null) return undefined
  const pos = Number(match[1])
  if (!Number.isSafeInteger(pos)) return undefined
  return { pos, phase: match[3] || null, stamp: match[4] || null, ...(match[2] ? { half: true } : {}) }
}
