/** Estimates the cost and the time of documents from past answers of the same model. Pure. */
import type { Basis } from './store/estimates.ts'

export interface Estimate {
  /** Decimal texts with six places; null: no past answer to estimate from. */
  costUsd: string | null
  /** If every document cost as much as the most expensive past document. */
  highestUsd: string | null
  seconds: number | null
}

const longest = 48_000

/** `lengths`: characters of each document; null: unknown, such as of a PDF that was not read yet. */
export function estimateOf(
  lengths: readonly (number | null)[],
  basis: Basis,
  requestsPerMinute: number | undefined,
): Estimate {
  const { averageUsd, highestUsd, perSecond } = basis
  const atLimit = requestsPerMinute === undefined ? Number.POSITIVE_INFINITY : requestsPerMinute / 60
  const pace = perSecond === null ? null : Math.min(perSecond, atLimit)
  return {
    costUsd:
      averageUsd === null ? null : lengths.reduce((sum: number, each) => sum + priceOf(each, basis), 0).toFixed(6),
    highestUsd: highestUsd === null ? null : (highestUsd * lengths.length).toFixed(6),
    seconds: pace === null || pace <= 0 ? null : Math.ceil(lengths.length / pace),
  }
}

/** A document of unknown length has the average price. A price never falls with the length. */
function priceOf(length: number | null, { averageUsd, slopeUsd, interceptUsd }: Basis): number {
  const average = averageUsd ?? 0
  if (length === null || slopeUsd === null || interceptUsd === null || slopeUsd <= 0) return average
  return Math.max(interceptUsd + slopeUsd * Math.min(length, longest), 0)
}
