/** The documents with an error: first the reasons with their counts, then each document with its last error. */
import { CircleCheck } from 'lucide-react'
import { useMemo } from 'react'
import { useApi } from '../../api/query.ts'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import type { DocumentError, Result } from './api-types.ts'
import { resultsMessages } from './results-messages.ts'

const shownErrors = 100

export function ErrorsTab({ id, results }: { id: string; results: readonly Result[] }) {
  const words = useMessages(resultsMessages)
  const errors = useApi('GET /execucoes/{id}/erros', { params: { id }, query: { limit: shownErrors } }, { every: 5000 })
  return (
    <Loading of={errors} lines={5}>
      {({ total, documentos }) =>
        total === 0 ? (
          <EmptyState icon={CircleCheck} title={words.noErrors} />
        ) : (
          <div class="flex flex-col gap-4">
            <Causes results={results} />
            <Card
              title={words.document}
              {...(total > documentos.length ? { hint: words.firstOnes(documentos.length, total) } : {})}
              flush
            >
              <ul>
                {documentos.map(each => (
                  <ErrorRow key={each.codigo} error={each} />
                ))}
              </ul>
            </Card>
          </div>
        )
      }
    </Loading>
  )
}

function Causes({ results }: { results: readonly Result[] }) {
  const words = useMessages(resultsMessages)
  const format = useFormat()
  const causes = useMemo(() => {
    const counts = new Map<string, number>()
    for (const { status, erro_mensagem: reason } of results)
      if (status === 'ERRO') counts.set(reason ?? '', (counts.get(reason ?? '') ?? 0) + 1)
    return [...counts].sort((a, b) => b[1] - a[1])
  }, [results])
  if (causes.length < 2) return null
  return (
    <Card title={words.causes} flush>
      <ul>
        {causes.map(([reason, count]) => (
          <li key={reason} class="flex gap-3 border-b px-4 py-2 last:border-b-0">
            <span class="w-12 shrink-0 text-right font-semibold">{format.number(count)}</span>
            <span class="min-w-0">{reason === '' ? words.noReason : reason}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function ErrorRow({ error }: { error: DocumentError }) {
  const words = useMessages(resultsMessages)
  const { codigo, status, tentativas, erro_mensagem: message, erro_stack: stack, resposta_ia: answer } = error
  return (
    <li class="flex flex-col gap-1 border-b px-4 py-3 last:border-b-0">
      <div class="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span class="min-w-0 font-medium">{codigo}</span>
        <StatusBadge status={status} />
        <span class="ml-auto text-sm text-muted">
          {words.attempts(tentativas)}
          {error.ultimo_erro_em !== null && (
            <>
              {' · '}
              <RelativeTime at={error.ultimo_erro_em} />
            </>
          )}
        </span>
      </div>
      <p>{message ?? words.noReason}</p>
      {answer !== null && <Folded title={words.answer} text={answer} />}
      {stack !== null && <Folded title={words.stack} text={stack} />}
    </li>
  )
}

function Folded({ title, text }: { title: string; text: string }) {
  return (
    <details>
      <summary class="cursor-pointer text-sm text-muted">{title}</summary>
      <div class="mt-2">
        <CodeBlock text={text} label={title} />
      </div>
    </details>
  )
}
