/** The transactions, the newest first, read page by page while the user scrolls. */
import { useState } from 'react'
import type { Answer } from '../../api/client.ts'
import { useApiList } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { Select } from '../../components/field.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import type { Column } from '../../components/table.tsx'
import { VirtualTable } from '../../components/virtual-table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { bankMessages } from './bank-messages.ts'
import { categoryWord } from './category-words.ts'

type Transaction = Answer<'GET /api/open-finance/transactions'>['items'][number]

interface TransactionListProps {
  accounts: readonly { id: string; name: string }[]
  account: string
  /** 2026-11; empty: all. */
  month: string
}

const lastDay = (month: string) =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).toISOString().slice(0, 10)

export function TransactionList({ accounts, account, month }: TransactionListProps) {
  const words = useMessages(bankMessages)
  const [type, setType] = useState<'' | 'CREDIT' | 'DEBIT'>('')
  const query = {
    limit: 100,
    ...(account === '' ? {} : { account_id: account }),
    ...(type === '' ? {} : { type }),
    ...(month === '' ? {} : { from: `${month.slice(0, 7)}-01`, to: lastDay(month) }),
  } as const
  const list = useApiList('GET /api/open-finance/transactions', { query })
  const isSimulated = list.data?.items.some(({ simulado }) => simulado) === true
  return (
    <Card
      title={words.transactions}
      {...(isSimulated ? { hint: <SimulatedMark names={['pluggy']} /> } : {})}
      actions={
        <div class="w-44">
          <Select
            label={words.type}
            hideLabel
            value={type}
            onSelect={value => setType(value === 'CREDIT' || value === 'DEBIT' ? value : '')}
            options={[
              { value: '', label: words.anyType },
              { value: 'CREDIT', label: words.credit },
              { value: 'DEBIT', label: words.debit },
            ]}
          />
        </div>
      }
      flush
    >
      <Loading of={list} lines={6}>
        {({ items }) => (
          <Rows rows={items} accounts={accounts} onEnd={() => list.hasNextPage && void list.fetchNextPage()} />
        )}
      </Loading>
    </Card>
  )
}

interface RowsProps {
  rows: readonly Transaction[]
  accounts: TransactionListProps['accounts']
  onEnd(): void
}

function Rows({ rows, accounts, onEnd }: RowsProps) {
  const words = useMessages(bankMessages)
  const format = useFormat()
  const day = new Intl.DateTimeFormat(format.language, { day: '2-digit', month: '2-digit', year: '2-digit' })
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const columns: readonly Column<Transaction>[] = [
    { id: 'day', header: words.day, width: '4.75rem', cell: row => day.format(new Date(`${row.day}T12:00:00`)) },
    {
      id: 'description',
      header: words.description,
      cell: row => (
        <span title={row.description}>
          {row.description} {row.status === 'PENDING' && <Badge tone="warn">{words.pending}</Badge>}
        </span>
      ),
    },
    { id: 'category', header: words.category, hide: 'nav', cell: row => categoryWord(row.category, format.language) },
    { id: 'account', header: words.account, hide: 'lg', cell: row => names.get(row.account_id) ?? '–' },
    {
      id: 'amount',
      header: words.amount,
      align: 'right',
      width: '7.75rem',
      cell: row => {
        const amount = format.money(Math.abs(Number(row.amount)), row.currency)
        return row.type === 'CREDIT' ? <span class="text-good">+ {amount}</span> : <span>− {amount}</span>
      },
    },
  ]
  return (
    <VirtualTable
      label={words.transactions}
      columns={columns}
      rows={rows}
      keyOf={row => row.id}
      onEnd={onEnd}
      height="28rem"
      empty={<EmptyState title={words.none} />}
    />
  )
}
