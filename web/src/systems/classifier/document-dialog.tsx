/** One document of an execution: what the AI answered and why, or why there is no answer. */
import { ExternalLink } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { Dialog } from '../../components/dialog.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { withBase } from '../../lib/base-path.ts'
import { Meter } from '../shared/meter.tsx'
import { StatusBadge } from '../shared/status-badge.tsx'
import type { Result } from './api-types.ts'
import { CorrectCategory } from './correct-category.tsx'
import { resultsMessages } from './results-messages.ts'
import { confidenceTone } from './results-tab.tsx'

interface DocumentDialogProps {
  execution: string
  result: Result
  onClose(): void
}

export function DocumentDialog({ execution, result, onClose }: DocumentDialogProps) {
  const words = useMessages(resultsMessages)
  const format = useFormat()
  const { codigo, categoria, confianca, justificativa, status, modelo, erro_mensagem: reason } = result
  const { tokens_entrada: tokensIn, tokens_saida: tokensOut, custo_usd_exato: cost, moeda } = result
  const file = `/execucoes/${encodeURIComponent(execution)}/documentos/${encodeURIComponent(codigo)}/arquivo`
  return (
    <Dialog title={codigo} onClose={onClose}>
      <div class="flex flex-col gap-4">
        <div class="flex flex-wrap items-center gap-2">
          <StatusBadge status={status} />
          {result.simulado && categoria !== null && <SimulatedMark />}
        </div>
        <dl class="flex flex-col gap-3">
          {categoria !== null && <Fact name={words.category}>{categoria}</Fact>}
          {confianca !== null && (
            <Fact name={words.confidence}>
              <Meter value={confianca} tone={confidenceTone(confianca)} />
            </Fact>
          )}
          {justificativa !== null && <Fact name={words.justification}>{justificativa}</Fact>}
          {reason !== null && <Fact name={words.reason}>{reason}</Fact>}
          {modelo !== null && <Fact name={words.model}>{modelo}</Fact>}
          {tokensIn !== null && (
            <Fact name={words.tokens}>
              {format.number(tokensIn)} / {format.number(tokensOut ?? 0)}
            </Fact>
          )}
          {cost !== null && (
            <Fact name={words.cost}>
              {format.number(Number(cost), { style: 'currency', currency: moeda, maximumFractionDigits: 6 })}
            </Fact>
          )}
        </dl>
        <CorrectCategory execution={execution} result={result} />
        <a
          href={withBase(file)}
          target="_blank"
          rel="noreferrer"
          class="inline-flex items-center gap-1.5 self-start font-medium text-accent hover:underline"
        >
          <ExternalLink size={14} aria-hidden="true" />
          {words.file}
        </a>
      </div>
    </Dialog>
  )
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt class="text-sm text-muted">{name}</dt>
    <dd class="whitespace-pre-wrap">{children}</dd>
  </div>
)
