/** The numbers of an execution: a bar, a count for each status, pace, cost and the age of the last progress. */
import { useEffect, useState } from 'react'
import { Card } from '../../components/card.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Stat } from '../../components/stat.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { type Detail, isAtWork } from './api-types.ts'
import { executionMessages } from './execution-messages.ts'
import type { Pace } from './use-execution.ts'

export function ExecutionProgress({ detail, pace }: { detail: Detail; pace: Pace }) {
  const words = useMessages(executionMessages)
  const format = useFormat()
  const { total, pendentes, processando, concluidos, erros, pulados, percentual } = detail
  const ended = concluidos + erros + pulados
  const atWork = isAtWork(detail.status)
  const facts = [
    words.ofTotal(format.number(ended), total),
    ...(atWork && pace.rate !== null && pace.rate > 0 ? [words.rate(format.number(Math.round(pace.rate * 60)))] : []),
    ...(atWork && pace.etaSeconds !== null ? [words.left(format.duration(pace.etaSeconds * 1000))] : []),
  ]
  return (
    <Card>
      <div class="flex flex-wrap items-baseline gap-x-3">
        <span class="text-2xl font-semibold tracking-tight" data-percent>
          {format.percent(percentual, 1)}
        </span>
        <span class="text-muted">{facts.join(' · ')}</span>
      </div>
      <div class="mt-3">
        <Progress
          label={words.progress}
          size="md"
          total={total}
          done={ended}
          parts={[
            { value: concluidos, tone: 'good', label: words.concluidos },
            { value: erros, tone: 'bad', label: words.erros },
            { value: pulados, tone: 'idle', label: words.pulados },
            { value: processando, tone: 'busy', label: words.processando, isUnderWay: true },
          ]}
        />
      </div>
      <Announced text={facts[0] ?? ''} percent={percentual} />
      <div class="mt-4 grid grid-cols-3 gap-x-4 gap-y-3 sm:grid-cols-5">
        <Stat label={words.concluidos} value={format.number(concluidos)} tone={concluidos > 0 ? 'good' : 'idle'} />
        <Stat label={words.erros} value={format.number(erros)} tone={erros > 0 ? 'bad' : 'idle'} />
        <Stat label={words.pulados} value={format.number(pulados)} />
        <Stat label={words.processando} value={format.number(processando)} tone={processando > 0 ? 'busy' : 'idle'} />
        <Stat label={words.pendentes} value={format.number(pendentes)} />
      </div>
      <Facts detail={detail} />
    </Card>
  )
}

function Facts({ detail }: { detail: Detail }) {
  const words = useMessages(executionMessages)
  const format = useFormat()
  const limit = detail.limite_custo_usd
  const cost = format.number(Number(detail.custo_usd_exato), {
    style: 'currency',
    currency: detail.moeda,
    maximumFractionDigits: 4,
  })
  const facts = [
    [words.heartbeat, detail.ultimo_heartbeat === null ? words.notYet : <RelativeTime at={detail.ultimo_heartbeat} />],
    [words.cost, limit === null ? cost : `${cost} (${words.costLimit(format.money(limit, detail.moeda))})`],
    [words.resumes, `${detail.tentativas_retry} / ${detail.max_retries}`],
    [words.model, detail.modelo ?? words.defaultModel],
  ] as const
  return (
    <dl class="mt-4 flex flex-wrap gap-x-6 gap-y-1 border-t pt-3 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} class="flex min-w-0 gap-1.5">
          <dt class="text-muted">{name}</dt>
          <dd class="min-w-0 truncate">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Read aloud at every tenth of the whole, not at every event. */
function Announced({ text, percent }: { text: string; percent: number }) {
  const [said, setSaid] = useState('')
  const tenth = Math.floor(percent / 10)
  useEffect(() => setSaid(text), [tenth])
  return (
    <p role="status" class="sr-only">
      {said}
    </p>
  )
}
