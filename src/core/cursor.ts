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
}

const form = /^(\d{1,16})(?:~([a-z\d.]*)~([\d.]*))?$/

export const cursorOf = ({ pos, phase, stamp }: Place): string =>
  phase === null && stamp === null ? String(pos) : `${pos}~${phase ?? ''}~${stamp ?? ''}`

/** undefined: no text of ours. */
export function readCursor(text: unknown): Place | undefined {
  const match = typeof text === 'string' ? form.exec(text) : null
  if (match === null) return undefined
  const pos = Number(match[1])
  return Number.isSafeInteger(pos) ? { pos, phase: match[2] || null, stamp: match[3] || null } : undefined
}
