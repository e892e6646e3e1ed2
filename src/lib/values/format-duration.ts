/** Formats durations for people. */

/** `45 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`, or with a single unit `3 min`: the same in both languages. */
export function spanText(seconds: number, units: 1 | 2 = 2): string {
  const whole = Math.max(Math.round(seconds), 0)
  const index = parts.findIndex(([, size]) => whole >= size)
  const [[unit, size], next] = [parts[index] ?? parts[3], parts[index + 1]]
  const rest = next === undefined || units === 1 ? 0 : Math.floor((whole % size) / next[1])
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next![0]}` : ''}`
}

const parts = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const
