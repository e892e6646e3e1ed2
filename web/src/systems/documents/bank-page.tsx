/** The bank accounts of the user: the last sync, balances, money in and out by month, and transactions. */
import { Landmark, RefreshCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Answer, ApiError } from '../../api/client.ts'
import { useAction, useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { newRequestKey } from '../../lib/request-key.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { bankMessages } from './bank-messages.ts'
import { MonthChart } from './month-chart.tsx'
import { TransactionList } from './transaction-list.tsx'

type Sync = Answer<'GET /api/open-finance/syncs/{id}'>
type Account = Answer<'GET /api/open-finance/accounts'>['items'][number]

const isAtWork = ({ status }: Sync) => status === 'PENDING' || status === 'PROCESSING'

export function BankPage() {
  const [every, setEvery] = useState(2000)
  const syncs = useApi('GET /api/open-finance/syncs', { query: { limit: 1 } }, { every })
  const last = syncs.data?.items[0]
  const isBusy = last !== undefined && isAtWork(last)
  useEffect(() => setEvery(isBusy ? 1000 : 15_000), [isBusy])
  return (
    <Loading of={syncs} lines={6}>
      {() => (last === undefined ? <FirstTime /> : <Shown last={last} isBusy={isBusy} />)}
    </Loading>
  )
}

function SyncButton({ isBusy = false, look = 'secondary' }: { isBusy?: boolean; look?: 'primary' | 'secondary' }) {
  const words = useMessages(bankMessages)
  const toast = useToast()
  const mayAct = useCan('operator')
  const sync = useAction('POST /api/open-finance/sync')
  if (!mayAct) return null
  const run = async () => {
    try {
      const { joined } = await sync.mutateAsync({ body: {}, idempotencyKey: newRequestKey() })
      toast.show('good', joined ? words.joined : words.synced)
    } catch (error) {
      const { status, message, retryAfterSeconds } = error as ApiError
      toast.show('bad', status === 429 ? words.limited(retryAfterSeconds ?? 60) : message)
    }
  }
  return (
    <Button look={look} icon={RefreshCw} busy={sync.isPending || isBusy} onClick={() => void run()}>
      {words.sync}
    </Button>
  )
}

function FirstTime() {
  const words = useMessages(bankMessages)
  const mayAct = useCan('operator')
  return (
    <EmptyState icon={Landmark} title={words.never} action={<SyncButton look="primary" />}>
      {mayAct ? words.neverHint : words.neverViewer}
    </EmptyState>
  )
}

function Shown({ last, isBusy }: { last: Sync; isBusy: boolean }) {
  const accounts = useApi('GET /api/open-finance/accounts', { query: { limit: 100 } }, { every: isBusy ? 2000 : false })
  const [account, setAccount] = useState('')
  const [month, setMonth] = useState('')
  // The rows change with each sync, so that a finished sync reads everything anew.
  const version = `${last.id} ${last.status}`
  const shown = accounts.data?.items ?? []
  return (
    <div class="flex flex-col gap-4">
      <LastSync last={last} isBusy={isBusy} />
      {shown.length > 0 && (
        <>
          <Accounts accounts={shown} selected={account} onSelect={setAccount} />
          <MonthChart key={`months ${version}`} account={account} selected={month} onSelect={setMonth} />
          <TransactionList key={`rows ${version}`} account={account} month={month} accounts={shown} />
        </>
      )}
    </div>
  )
}

function LastSync({ last, isBusy }: { last: Sync; isBusy: boolean }) {
  const words = useMessages(bankMessages)
  const { status, needs_user: needsUser, error_message: message } = last
  if (status === 'FAILED')
    return (
      <div role="alert">
        <Sentence kind={needsUser ? 'warn' : 'bad'} hint={message ?? undefined} action={<SyncButton look="primary" />}>
          {needsUser ? words.needsUser : words.failed}
        </Sentence>
      </div>
    )
  return (
    <div class="flex flex-wrap items-center gap-x-3 gap-y-2" role="status">
      <StatusBadge status={status} />
      {last.simulado && <SimulatedMark names={['pluggy']} />}
      <span class="min-w-0 flex-1 basis-60 text-muted">
        {isBusy ? (
          <>
            {status === 'PROCESSING' ? words.running : words.waiting}
            {message !== null && `: ${message}`}
          </>
        ) : (
          <>
            {words.last} <RelativeTime at={last.completed_at ?? last.updated_at} /> · {countsOf(last, words)}
          </>
        )}
      </span>
      <SyncButton isBusy={isBusy} />
    </div>
  )
}

type Words = Record<'added' | 'changed' | 'removed', (count: number) => string> & { nothingNew: string }

function countsOf(sync: Sync, words: Words): string {
  const found = (['added', 'changed', 'removed'] as const).filter(each => sync[each] > 0)
  return found.length === 0 ? words.nothingNew : found.map(each => words[each](sync[each])).join(', ')
}

interface AccountsProps {
  accounts: readonly Account[]
  selected: string
  onSelect(id: string): void
}

/** A click shows only the transactions of the account. */
function Accounts({ accounts, selected, onSelect }: AccountsProps) {
  const words = useMessages(bankMessages)
  const format = useFormat()
  return (
    <ul aria-label={words.accounts} class="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 wide:grid-cols-4">
      {accounts.map(({ id, name, institution, last_digits: digits, balance, currency }) => (
        <li key={id}>
          <button
            type="button"
            aria-pressed={selected === id}
            class={`flex w-full flex-col gap-1 rounded-lg border bg-surface p-4 text-left hover:bg-hover ${selected === id ? 'border-accent' : ''}`}
            onClick={() => onSelect(selected === id ? '' : id)}
          >
            <span class="font-medium">{name}</span>
            <span class="text-sm text-muted">
              {[institution, digits === null ? null : words.digits(digits)].filter(each => each !== null).join(' · ')}
            </span>
            <span class="mt-1 text-xl font-semibold tracking-tight">{format.money(balance, currency)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
