/** How fast a batch goes lately, and how long it still takes: from a few samples of how many had ended when. */

export interface Sample {
  ageSeconds: number
  ended: number
}

const windowSeconds = 60

/** Items a second; null: nothing is known, or nothing has ended lately. Samples are in the order they were taken. */
export function rateOf(samples: readonly Sample[], ended: number): number | null {
  const from = samples.find(each => each.ageSeconds <= windowSeconds) ?? samples.at(-1)
  if (from === undefined || from.ageSeconds < 1 || ended <= from.ended) return null
  return (ended - from.ended) / from.ageSeconds
}

export const etaOf = (rate: number | null, left: number): number | null =>
  rate === null ? null : Math.ceil(left / rate)
