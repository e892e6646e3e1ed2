/** Statistics of many measurements. */

/** Returns the quantile `share` of the values; 0.5 is the median. */
export function part(values, share) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

export const median = values => part(values, 0.5)

export const round = (value, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits

export const grouped = value => Math.round(value).toLocaleString('en')
