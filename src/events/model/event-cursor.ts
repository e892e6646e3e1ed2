/**
 * Encodes the position of an event reader: the last position read, and the last observed state, progress and log line of the followed job
 * or batch. With the second part a reader that continues later neither repeats nor misses a final state. Opaque to callers.
 */
export interface EventPosition {
  seq: number
  /** Last observed state, with the attempt of a job; null: not observed yet. */
  phase: string | null
  /** Last observed progress; null: not observed yet. */
  stamp: string | null
  /** Last log line, as attempt and number; absent: none yet. */
  line?: string | null
  /** The reader has the action at `seq`, but not the state after the action. */
  half?: boolean
}

const form = /^(\d{1,16})(h?)(?:~([a-z_\d.]*)~([\d.]*)(?:~(\d{1,9}\.\d{1,9}))?)?$/

export const cursorOf = ({ seq, phase, stamp, line, half }: EventPosition): string => {
  const place = half ? `${seq}h` : String(seq)
  if (phase === null && stamp === null && !line) return place
  return `${place}~${phase ?? ''}~${stamp ?? ''}${line ? `~${line}` : ''}`
}

/** Returns undefined if `text` is no cursor of ours. */
export function readCursor(text: unknown): EventPosition | undefined {
  const match = typeof text === 'string' ? form.exec(text) : null
  if (match === null) return undefined
  const seq = Number(match[1])
  if (!Number.isSafeInteger(seq)) return undefined
  return {
    seq,
    phase: match[3] || null,
    stamp: match[4] || null,
    ...(match[5] ? { line: match[5] } : {}),
    ...(match[2] ? { half: true } : {}),
  }
}
