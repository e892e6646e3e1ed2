/** Computes the throughput of a batch and the remaining time from samples of the number of ended items. */

export interface Sample {
  ageSeconds: number
  ended: number
}

const windowSeconds = 60

/** Items per second; null: unknown, or no item ended lately. `samples` are in the order of time. */
export function rateOf(samples: readonly Sample[], ended: number): number | null {
  const from = samples.find(each => each.ageSeconds <= windowSeconds) ?? samples.at(-1)
  if (from === undefined || from.ageSeconds < 1 || ended <= from.ended) return null
  return (ended - from.ended) / from.ageSeconds
}

export const etaOf = (rate: number | null, left: number): number | null =>
  rate === null ? null : Math.ceil(left / rate)
