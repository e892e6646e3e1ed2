/**
 * Defines the fixed buckets of the history, and reads quantiles from bucket counts. The bounds are the same in every process and at every
 * step, so that the counts of many workers and minutes add up element by element.
 */

/** Upper bounds in milliseconds: 1, 2 and 5 of each power of ten, from 1 ms to 100,000 s. A last bucket takes the values above. */
export const historyBounds: readonly number[] = [
  ...Array.from({ length: 8 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat(),
  1e8,
]

/** The number of buckets, with the bucket above the last bound. */
export const bucketCount = historyBounds.length + 1

export const noCounts = (): number[] => new Array<number>(bucketCount).fill(0)

/** The bucket of a value in milliseconds. A value that is not a number counts as 0. */
export function bucketOf(ms: number): number {
  let bucket = 0
  while (bucket < historyBounds.length && ms > historyBounds[bucket]!) bucket++
  return bucket
}

/**
 * The value in milliseconds below which the share `q` of the counted values lies, by linear interpolation within the bucket; null: nothing
 * is counted. The true value lies in the same bucket, so the result is at most 2.5 times off. Values above the last bound count as the last
 * bound.
 */
export function quantileOf(counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const wanted = q * total
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    if (count === 0 || below + count < wanted) {
      below += count
      continue
    }
    const low = bucket === 0 ? 0 : historyBounds[bucket - 1]!
    const high = historyBounds[bucket] ?? low
    return low + ((high - low) * (wanted - below)) / count
  }
  return historyBounds.at(-1)!
}
