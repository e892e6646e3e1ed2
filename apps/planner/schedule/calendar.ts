/** Computes with days and times of day, without a time zone: a schedule is in the local time of its place. */

/** Minutes of a day. */
export const dayMinutes = 24 * 60
const dayMs = 86_400_000

/** The number of the day since 1970; undefined: no such date. */
export function dayOf(date: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  // Date.parse accepts 2026-02-30 as 2 March.
  return Number.isNaN(ms) || dateOf(ms / dayMs) !== date ? undefined : ms / dayMs
}

export const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** 0: Sunday, 6: Saturday. 1 January 1970 was a Thursday. */
export const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7

/** Minutes since midnight, of `07:30` or `24:00`. */
function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return hours! * 60 + minutes!
}

export interface Span {
  /** Minutes since midnight of the day on which the span starts. */
  start: number
  /** After `start`; beyond 24 h if the span ends on the next day. */
  end: number
}

/** A span that ends at or before its start ends on the next day. */
export function spanOf(from: string, to: string): Span {
  const [start, end] = [minutesOf(from), minutesOf(to)]
  return { start, end: end > start ? end : end + dayMinutes }
}

/** A night shift works between 0:00 and 5:00, at least in part; `night` of the shift decides otherwise. */
export function isNight({ start, end }: Span): boolean {
  const overlaps = (from: number, to: number) => start < to && end > from
  return overlaps(0, 5 * 60) || overlaps(dayMinutes, dayMinutes + 5 * 60)
}
