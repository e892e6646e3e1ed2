/** The prices of a quote as dots on one line: prices that count are filled, prices that do not count are rings. */
import type { Answer } from '../../api/client.ts'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { quotesMessages } from './messages.ts'

type Price = Answer<'GET /api/quotes/{id}'>['prices'][number]

const height = 72
const edge = 12

/** Round values from below the lowest price to above the highest, about five of them. */
function ticksOf(low: number, high: number): number[] {
  const rough = Math.max(high - low, high * 0.1, 1) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough) ?? rough
  const first = Math.floor(low / step)
  const count = Math.max(1, Math.ceil(high / step) - first)
  return Array.from({ length: count + 1 }, (_, index) => (first + index) * step)
}

export function PricePlot({ prices, result }: { prices: readonly Price[]; result: string | null }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  const values = [...prices.map(each => Number(each.price)), ...(result === null ? [] : [Number(result)])]
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (prices.length === 0 || !Number.isFinite(low)) return null
  const currency = prices[0]!.currency
  const ticks = ticksOf(low, high)
  const [first, last] = [ticks[0]!, ticks.at(-1)!]
  const at = (value: number) => (last === first ? 50 : ((value - first) / (last - first)) * 100)
  const money = (value: number) => format.money(value, currency)
  return (
    <figure class="px-6">
      <svg
        role="img"
        aria-label={words.plotText(prices.length, money(low), money(high))}
        width="100%"
        height={height}
        class="overflow-visible"
      >
        <line x1="0" x2="100%" y1={height / 2} y2={height / 2} class="stroke-line-strong" />
        {ticks.map(tick => (
          <line key={tick} x1={`${at(tick)}%`} x2={`${at(tick)}%`} y1={edge} y2={height - edge} class="stroke-line" />
        ))}
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
      <div aria-hidden="true" class="relative h-5 text-xs text-muted">
        {ticks.map((tick, index) => (
          <span
            key={tick}
            class={classes(
              'absolute -translate-x-1/2 whitespace-nowrap',
              index > 0 && index < ticks.length - 1 && 'max-sm:hidden',
            )}
            style={{ left: `${at(tick)}%` }}
          >
            {format.number(tick, { style: 'currency', currency, maximumFractionDigits: 0 })}
          </span>
        ))}
      </div>
      <figcaption class="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        <span class="flex items-center gap-1.5">
          <span class="size-2.5 rounded-full bg-busy-fill" aria-hidden="true" />
          {words.used}
        </span>
        <span class="flex items-center gap-1.5">
          <span class="size-2.5 rounded-full border-2 border-dashed border-idle" aria-hidden="true" />
          {words.outlier}
        </span>
        {result !== null && (
          <span class="flex items-center gap-1.5">
            <span class="h-3 w-0.5 bg-accent" aria-hidden="true" />
            {words.chosen}: <span class="font-medium text-ink">{money(Number(result))}</span>
          </span>
        )}
      </figcaption>
    </figure>
  )
}
