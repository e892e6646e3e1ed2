/** The prices of a quote as dots on one line: prices that count are filled, prices that do not count are rings. */
import type { Answer } from '../../api/client.ts'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { quotesMessages } from './messages.ts'

type Price = Answer<'GET /api/quotes/{id}'>['prices'][number]

const height = 72
const edge = 12

export function PricePlot({ prices, result }: { prices: readonly Price[]; result: string | null }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  const values = [...prices.map(each => Number(each.price)), ...(result === null ? [] : [Number(result)])]
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (prices.length === 0 || !Number.isFinite(low)) return null
  const currency = prices[0]!.currency
  const at = (value: number) => (high === low ? 50 : ((value - low) / (high - low)) * 100)
  const money = (value: number) => format.money(value, currency)
  return (
    <figure class="px-3">
      <svg
        role="img"
        aria-label={words.plotText(prices.length, money(low), money(high))}
        width="100%"
        height={height}
        class="overflow-visible"
      >
        <line x1="0" x2="100%" y1={height / 2} y2={height / 2} class="stroke-line-strong" />
        {result !== null && (
          <line
            x1={`${at(Number(result))}%`}
            x2={`${at(Number(result))}%`}
            y1={edge}
            y2={height - edge}
            class="stroke-accent"
            stroke-width="2"
          />
        )}
        {prices.map(({ n, price, used, shop }) => (
          <circle
            key={n}
            cx={`${at(Number(price))}%`}
            cy={height / 2}
            r="6"
            class={used === false ? 'fill-surface stroke-idle' : 'fill-busy-fill stroke-surface'}
            stroke-width={used === false ? 2 : 1}
            stroke-dasharray={used === false ? '3 2' : undefined}
          >
            <title>{`${shop}: ${money(Number(price))}, ${used === false ? words.outlier : words.used}`}</title>
          </circle>
        ))}
      </svg>
      <figcaption class="-mx-3 flex justify-between text-sm text-muted">
        <span>{money(low)}</span>
        {high > low && <span>{money(high)}</span>}
      </figcaption>
    </figure>
  )
}
