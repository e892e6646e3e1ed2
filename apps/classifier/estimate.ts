/** Estimates the cost and the time of documents from past answers of the same model. Pure. */
import type { Basis, Line } from './store/estimates.ts'

export interface Estimate {
  /** Decimal texts with six places; null: no past answer to estimate from. */
  costUsd: string | null
  /** If every document cost as much as the most expensive past document. */
  highestUsd: string | null
  seconds: number | null
}

/** `characters`: null: unknown. `ending`: of the name of a file that was not read yet, in lower case; '': the name has none. */
export type Size = { characters: number | null } | { bytes: number; ending: string }

const longest = 48_000

/** The text of these files is as long as the file; of any other file the length is known only after reading. */
const textEndings: readonly string[] = ['txt', 'md', 'csv']

export function sizeOfFile(name: string, bytes: number): Size {
  const ending = /\.([^.]{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return textEndings.includes(ending) ? { characters: bytes } : { bytes, ending }
}

export function estimateOf(sizes: readonly Size[], basis: Basis, requestsPerMinute: number | undefined): Estimate {
  const { averageUsd, highestUsd, perSecond } = basis
  const atLimit = requestsPerMinute === undefined ? Number.POSITIVE_INFINITY : requestsPerMinute / 60
  const pace = perSecond === null ? null : Math.min(perSecond, atLimit)
  return {
    costUsd: averageUsd === null ? null : sizes.reduce((sum: number, each) => sum + priceOf(each, basis), 0).toFixed(6),
    highestUsd: highestUsd === null ? null : (highestUsd * sizes.length).toFixed(6),
    seconds: pace === null || pace <= 0 ? null : Math.ceil(sizes.length / pace),
  }
}

/** A document of unknown length, or with an ending without a past, has the average price. */
function priceOf(size: Size, basis: Basis): number {
  const average = basis.averageUsd ?? 0
  if ('characters' in size)
    return size.characters === null ? average : (onLine(basis, Math.min(size.characters, longest)) ?? average)
  const past = basis.endings.get(size.ending)
  if (past === undefined) return average
  // However large the file is, the AI gets no more than the longest text.
  const most = Math.max(onLine(basis, longest) ?? 0, basis.highestUsd ?? 0)
  return Math.min(onLine(past, size.bytes) ?? past.averageUsd, most)
}

/** undefined: the price does not grow with the size. */
function onLine({ slopeUsd, interceptUsd }: Line, size: number): number | undefined {
  if (slopeUsd === null || interceptUsd === null || slopeUsd <= 0) return undefined
  return Math.max(interceptUsd + slopeUsd * size, 0)
}
