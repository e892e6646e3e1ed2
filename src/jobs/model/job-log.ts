/** Defines the stored log lines of a job, and the cursor of a list of lines. */

/** A line that a handler wrote with `ctx.log`. */
export interface JobLogLine {
  attempt: number
  /** The number of the line in its attempt, from 1. Early lines of a long log are not kept. */
  n: number
  at: Date
  level: 'info' | 'warn' | 'error'
  message: string
  /** The facts of the line, without secrets; null: none. Facts of more than 2,000 characters are `{ cut }`, the beginning as text. */
  facts: Readonly<Record<string, unknown>> | null
}

/** Selects lines of `engine.jobs.logs`. */
export interface JobLogFilter {
  /** Only lines of this attempt. Default: of the last ten attempts with lines. */
  attempt?: number | undefined
}

/** The lines of an attempt, as stored. */
export interface StoredLog {
  attempt: number
  /** The number of lines that the attempt has written. */
  count: number
  /** The last lines: instant in milliseconds, level, message, facts. */
  lines: readonly [number, JobLogLine['level'], string, Readonly<Record<string, unknown>>?][]
}

/** A place in the lines of a job: after line `n` of `attempt`. */
export interface LogPosition {
  attempt: number
  n: number
}

const form = /^(\d{1,9})\.(\d{1,9})$/

export const logPositionText = ({ attempt, n }: LogPosition): string => `${attempt}.${n}`

/** Returns undefined if `text` is no place of ours. */
export function readLogPosition(text: string): LogPosition | undefined {
  const match = form.exec(text)
  return match === null ? undefined : { attempt: Number(match[1]), n: Number(match[2]) }
}

/** The lines after a place, of all given attempts, in order. */
export function linesAfter(stored: readonly StoredLog[], place: LogPosition | undefined): JobLogLine[] {
  return stored.flatMap(({ attempt, count, lines }) =>
    lines.flatMap(([at, level, message, facts], index) => {
      const n = count - lines.length + index + 1
      const isBefore = place !== undefined && (attempt < place.attempt || (attempt === place.attempt && n <= place.n))
      return isBefore ? [] : [{ attempt, n, at: new Date(at), level, message, facts: facts ?? null }]
    }),
  )
}
