/**
 * Turns the prices of a product into the result of a quote. Prices far from the median do not count: the distance from the median is
 * compared with the median absolute deviation (MAD), which a few wrong prices cannot move. Pure, and exact: all money is whole cents.
 *
 * Invariant: every price is either used or has a reason; the statistics are those of the used prices alone.
 */
import { shown, textOf } from './money.ts'

/** With fewer prices no price is an outlier: the median of three prices says too little. */
const fewestForOutliers = 4
/** The usual limit for the modified z-score, 0.6745 × distance / MAD, in ten-thousandths. */
const limit = 35_000n
const factor = 6745n
/** If most shops have the same price the MAD is nearly 0: the MAD counts as at least this part of the median. */
const leastPart = 50n
/** Used prices for confidence. */
const fewestPrices = 3
const manyPrices = 5
/** The largest coefficient of variation of a confident result, in ten-thousandths. */
const mostVariation = 2500

interface Judged {
  used: boolean
  /** Why the price does not count, in Portuguese; null: the price counts. */
  reason: string | null
}

type Confidence = 'high' | 'medium' | 'low'

interface Statistics {
  mean: string
  median: string
  lowest: string
  highest: string
  /** Standard deviation divided by the mean. */
  coefficientOfVariation: number
}

export interface PriceResult {
  /** In the order of the prices. */
  judged: Judged[]
  /** null: no price. */
  statistics: Statistics | null
  confidence: Confidence
  /** In Portuguese; null: nothing to say. */
  confidenceReason: string | null
}

export function summarise(prices: readonly bigint[]): PriceResult {
  const judged = judge(prices)
  const used = prices.filter((_, index) => judged[index]!.used)
  const statistics = used.length === 0 ? null : statisticsOf(used)
  return { judged, statistics, ...confidenceOf(used.length, statistics) }
}

const inOrder = (values: readonly bigint[]) => values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))

/** Twice the median, so that the median of an even number of values stays whole. */
function twiceMedian(values: readonly bigint[]): bigint {
  const sorted = inOrder(values)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? 2n * sorted[middle]! : sorted[middle - 1]! + sorted[middle]!
}

const absolute = (value: bigint) => (value < 0n ? -value : value)
const larger = (a: bigint, b: bigint) => (a > b ? a : b)

function judge(prices: readonly bigint[]): Judged[] {
  const used = { used: true, reason: null }
  if (prices.length < fewestForOutliers) return prices.map(() => used)
  const center = twiceMedian(prices)
  const distances = prices.map(price => absolute(2n * price - center))
  // Distances are doubled, so this is four times the MAD; the least part of the median is scaled alike.
  const deviation = larger(twiceMedian(distances), (2n * center) / leastPart)
  const median = shown(halfUp(center, 2n))
  return prices.map((price, index) => {
    if (2n * distances[index]! * factor <= limit * deviation) return used
    const side = 2n * price < center ? 'abaixo' : 'acima'
    return { used: false, reason: `muito ${side} da mediana de ${median}` }
  })
}

/** `value / by`, half rounded up; `value` is not negative. */
const halfUp = (value: bigint, by: bigint): bigint => (2n * value + by) / (2n * by)

function statisticsOf(used: readonly bigint[]): Statistics {
  const count = BigInt(used.length)
  const sum = used.reduce((all, price) => all + price, 0n)
  const squares = used.reduce((all, price) => all + price * price, 0n)
  const sorted = inOrder(used)
  return {
    mean: textOf(halfUp(sum, count)),
    median: textOf(halfUp(twiceMedian(used), 2n)),
    lowest: textOf(sorted[0]!),
    highest: textOf(sorted.at(-1)!),
    coefficientOfVariation: sum === 0n ? 0 : Number(root((count * squares - sum * sum) * 100_000_000n) / sum) / 10_000,
  }
}

/** The whole part of the square root. */
function root(value: bigint): bigint {
  if (value < 2n) return value
  let x = 1n << BigInt((value.toString(2).length + 1) >> 1)
  for (;;) {
    const next = (x + value / x) >> 1n
    if (next >= x) return x
    x = next
  }
}

function confidenceOf(
  count: number,
  statistics: Statistics | null,
): Pick<PriceResult, 'confidence' | 'confidenceReason'> {
  if (statistics === null) return { confidence: 'low', confidenceReason: 'nenhum preço encontrado' }
  if (count < fewestPrices)
    return {
      confidence: 'low',
      confidenceReason: `apenas ${count} ${count === 1 ? 'preço' : 'preços'}; são precisos ${fewestPrices}`,
    }
  if (statistics.coefficientOfVariation * 10_000 > mostVariation)
    return { confidence: 'medium', confidenceReason: 'os preços variam muito entre as lojas' }
  if (count < manyPrices) return { confidence: 'medium', confidenceReason: `apenas ${count} preços` }
  return { confidence: 'high', confidenceReason: null }
}
