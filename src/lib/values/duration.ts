/** Defines durations with a unit: `seconds(5)`, `minutes(2)`; the text form is `500ms`, `5s`, `10m`, `2h` or `1d`. */

/** Milliseconds, created only by the functions of this file. */
export type Duration = number & { readonly unit: 'ms' }

/** A duration of `n` milliseconds. */
export const milliseconds = (n: number): Duration => n as Duration
/** A duration of `n` seconds. */
export const seconds = (n: number): Duration => milliseconds(n * 1000)
/** A duration of `n` minutes. */
export const minutes = (n: number): Duration => seconds(n * 60)
/** A duration of `n` hours. */
export const hours = (n: number): Duration => minutes(n * 60)
/** A duration of `n` days. */
export const days = (n: number): Duration => hours(n * 24)

/** 100 years: far beyond any use, and well within the range of PostgreSQL's timestamps and intervals. */
export const longestDuration = days(36_500)

const units = { ms: milliseconds, s: seconds, m: minutes, h: hours, d: days }

/** Parses `10m`; undefined if the text is no duration, or a duration above 100 years. */
export function parseDuration(text: string): Duration | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) return undefined
  const duration = units[match[2] as keyof typeof units](Number(match[1]))
  return duration <= longestDuration ? duration : undefined
}

/** Formats `10m`, in the largest unit without a remainder. */
export function formatDuration(duration: Duration): string {
  const [unit, of] = Object.entries(units).findLast(([, of]) => duration % of(1) === 0) ?? ['ms', milliseconds]
  return `${duration / of(1)}${unit}`
}
