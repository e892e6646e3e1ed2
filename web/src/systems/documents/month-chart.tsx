/** Money in and out by month as pairs of bars; a click on a month shows only its transactions. The bars differ in pattern, too. */
import { useApi } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { bankMessages } from './bank-messages.ts'

const shownMonths = 13
/** On a narrow screen: a month is at least as wide as a fingertip. */
const shownNarrow = 6

interface MonthChartProps {
  account: string
  selected: string
  onSelect(month: string): void
}

export function MonthChart({ account, selected, onSelect }: MonthChartProps) {
  const words = useMessages(bankMessages)
  const query = account === '' ? {} : { account_id: account }
  const totals = useApi('GET /api/open-finance/totals', { query }, { keepPrevious: true })
  return (
    <Card
      title={words.months}
      hint={<Legend />}
      {...(selected === ''
        ? {}
        : {
            actions: (
              <Button size="sm" look="quiet" onClick={() => onSelect('')}>
                {words.allMonths}
              </Button>
            ),
          })}
    >
      <Loading of={totals} lines={4}>
        {({ months }) => {
          const sorted = [...months].sort((a, b) => a.month.localeCompare(b.month)).slice(-shownMonths)
          const most = Math.max(1, ...sorted.flatMap(({ credit, debit }) => [Number(credit), Number(debit)]))
          return (
            <div class="relative h-44 pl-14">
              <MoneyAxis most={most} currency={sorted[0]?.currency ?? 'BRL'} />
              <ul class="relative flex h-full items-end gap-1 sm:gap-2">
                {sorted.map((each, index) => (
                  <Month
                    key={`${each.month} ${each.currency}`}
                    {...each}
                    showsYear={index === 0 || each.month.endsWith('-01')}
                    most={most}
                    isOlder={index < sorted.length - shownNarrow}
                    isSelected={selected === each.month}
                    onSelect={() => onSelect(selected === each.month ? '' : each.month)}
                  />
                ))}
              </ul>
            </div>
          )
        }}
      </Loading>
    </Card>
  )
}

/** Lines at a third, two thirds and the whole of the largest value, with their money. The bars stand on the line of zero. */
function MoneyAxis({ most, currency }: { most: number; currency: string }) {
  const format = useFormat()
  const short = new Intl.NumberFormat(format.language, {
    style: 'currency',
    currency,
    notation: 'compact',
    maximumFractionDigits: 1,
  })
  return (
    <div aria-hidden="true" class="absolute inset-x-0 top-0 bottom-6">
      {[1, 2 / 3, 1 / 3, 0].map(share => (
        <span key={share} class="absolute inset-x-0 border-t" style={{ bottom: `${share * 100}%` }}>
          <span class="absolute -top-2 left-0 bg-surface pr-2 text-xs whitespace-nowrap text-faint">
            {short.format(most * share)}
          </span>
        </span>
      ))}
    </div>
  )
}

function Legend() {
  const words = useMessages(bankMessages)
  return (
    <span class="flex gap-3">
      <span class="flex items-center gap-1.5">
        <span class="size-2.5 rounded-sm bg-good-fill" aria-hidden="true" />
        {words.credit}
      </span>
      <span class="flex items-center gap-1.5">
        <span class="size-2.5 rounded-sm border-2 border-bad-fill" aria-hidden="true" />
        {words.debit}
      </span>
    </span>
  )
}

interface MonthProps {
  month: string
  currency: string
  credit: string
  debit: string
  most: number
  showsYear: boolean
  /** Hidden on a narrow screen. */
  isOlder: boolean
  isSelected: boolean
  onSelect(): void
}

function Month({ month, currency, credit, debit, most, showsYear, isOlder, isSelected, onSelect }: MonthProps) {
  const words = useMessages(bankMessages)
  const format = useFormat()
  const day = new Date(`${month.slice(0, 7)}-15T12:00:00Z`)
  const short = new Intl.DateTimeFormat(format.language, { month: 'short' }).format(day).replace('.', '')
  const long = new Intl.DateTimeFormat(format.language, { month: 'long', year: 'numeric' }).format(day)
  const text = `${long}: ${words.credit} ${format.money(credit, currency)}, ${words.debit} ${format.money(debit, currency)}`
  const height = (value: string) => ({ height: `${Math.max(1, (Number(value) / most) * 100)}%` })
  return (
    <li class={classes('h-full min-w-0 flex-1', isOlder && 'max-sm:hidden')}>
      <button
        type="button"
        aria-pressed={isSelected}
        title={text}
        class={classes(
          'flex h-full w-full flex-col rounded-md px-0.5 sm:px-1',
          isSelected ? 'bg-accent-soft' : 'hover:bg-hover',
        )}
        onClick={onSelect}
      >
        <span class="flex w-full flex-1 items-end justify-center gap-0.5" aria-hidden="true">
          <span class="w-full max-w-5 rounded-t-sm bg-good-fill" style={height(credit)} />
          <span class="w-full max-w-5 rounded-t-sm border-2 border-b-0 border-bad-fill" style={height(debit)} />
        </span>
        <span class="h-6 w-full truncate pt-1 text-center text-xs text-muted">
          {short}
          {showsYear && <span class="max-sm:hidden"> {day.getUTCFullYear()}</span>}
        </span>
        <span class="sr-only">{text}</span>
      </button>
    </li>
  )
}
