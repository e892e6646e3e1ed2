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
            <ul class="flex h-44 items-end gap-1 sm:gap-2">
              {sorted.map(each => (
                <Month
                  key={`${each.month} ${each.currency}`}
                  {...each}
                  most={most}
                  isSelected={selected === each.month}
                  onSelect={() => onSelect(selected === each.month ? '' : each.month)}
                />
              ))}
            </ul>
          )
        }}
      </Loading>
    </Card>
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
  isSelected: boolean
  onSelect(): void
}

function Month({ month, currency, credit, debit, most, isSelected, onSelect }: MonthProps) {
  const words = useMessages(bankMessages)
  const format = useFormat()
  const day = new Date(`${month.slice(0, 7)}-15T12:00:00Z`)
  const short = new Intl.DateTimeFormat(format.language, { month: 'short' }).format(day).replace('.', '')
  const long = new Intl.DateTimeFormat(format.language, { month: 'long', year: 'numeric' }).format(day)
  const text = `${long}: ${words.credit} ${format.money(credit, currency)}, ${words.debit} ${format.money(debit, currency)}`
  const height = (value: string) => ({ height: `${Math.max(1, (Number(value) / most) * 100)}%` })
  return (
    <li class="h-full min-w-0 flex-1">
      <button
        type="button"
        aria-pressed={isSelected}
        title={text}
        class={classes(
          'flex h-full w-full flex-col rounded-md p-0.5 sm:p-1',
          isSelected ? 'bg-hover' : 'hover:bg-hover',
        )}
        onClick={onSelect}
      >
        <span class="flex w-full flex-1 items-end justify-center gap-0.5" aria-hidden="true">
          <span class="w-full max-w-5 rounded-t-sm bg-good-fill" style={height(credit)} />
          <span class="w-full max-w-5 rounded-t-sm border-2 border-b-0 border-bad-fill" style={height(debit)} />
        </span>
        <span class="w-full truncate pt-1 text-center text-xs text-muted">{short}</span>
        <span class="sr-only">{text}</span>
      </button>
    </li>
  )
}
