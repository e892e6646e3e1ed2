/** The rule and the sweeps of one guard. */
import type { ItemOf } from '../../api/query.ts'
import { Card } from '../../components/card.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { guardsMessages } from './messages.ts'

type Guard = ItemOf<'GET /api/v1/guards'>

const values = (guard: Guard) => guard.status.running.map(each => each ?? 'null').join(', ')

export function GuardFacts({ guard }: { guard: Guard }) {
  const words = useMessages(guardsMessages)
  const format = useFormat()
  const sets = Object.entries(guard.set).map(([column, value]) => `${column} = ${value ?? 'null'}`)
  return (
    <Card>
      <Facts>
        <Fact term={words.table}>
          <span class="font-mono text-sm">
            {guard.table}, {words.running(guard.status.column, values(guard))}
          </span>
        </Fact>
        <Fact term={words.signalOf}>
          <span class="font-mono text-sm">{guard.signal.join(', ')}</span>
        </Fact>
        <Fact term={words.lostAfter}>{format.duration(guard.after_ms)}</Fact>
        <Fact term={words.every}>{format.duration(guard.every_ms)}</Fact>
        <Fact term={words.sets}>
          <span class="font-mono text-sm">{sets.join(', ')}</span>
        </Fact>
        {guard.kind !== null && <Fact term={words.kind}>{guard.kind}</Fact>}
        <Fact term={words.lastSweep}>
          <RelativeTime at={guard.last_sweep_at} />
        </Fact>
        <Fact term={words.lastMarked}>{format.number(guard.last_marked)}</Fact>
        <Fact term={words.total}>{format.number(guard.total)}</Fact>
        {guard.warnings.length > 0 && <Fact term={words.warnings}>{guard.warnings.join(' ')}</Fact>}
      </Facts>
    </Card>
  )
}
