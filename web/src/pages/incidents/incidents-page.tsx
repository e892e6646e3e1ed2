/** The problems of now, each with its sentence and since when, then the incidents that were recorded. */
import { CircleAlert, CircleCheck } from 'lucide-react'
import { Link } from 'wouter'
import { type ItemOf, useApi, useApiList } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { keyOfProblem, ProblemSentence } from '../../layout/problem-sentence.tsx'
import { subjectPath } from '../../layout/subject-path.ts'
import { incidentsMessages } from './messages.ts'

type Incident = ItemOf<'GET /api/v1/incidents'>

const refreshMs = 5000

export default function IncidentsPage() {
  const words = useMessages(incidentsMessages)
  const health = useApi('GET /api/v1/stats/health', {}, { every: refreshMs })
  const incidents = useApiList('GET /api/v1/incidents', { query: { limit: 50 } })
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <div class="flex flex-col gap-4">
        <Loading of={health}>
          {({ problems }) =>
            problems.length === 0 ? (
              <Sentence kind="good" hint={words.calmHint}>
                {words.calm}
              </Sentence>
            ) : (
              problems.map(each => <ProblemSentence key={keyOfProblem(each)} problem={each} />)
            )
          }
        </Loading>
        <Card title={words.past} flush>
          <Loading of={incidents}>{({ items }) => <Incidents rows={items} />}</Loading>
          {incidents.hasNextPage && (
            <div class="border-t p-2 text-center">
              <Button look="quiet" busy={incidents.isFetchingNextPage} onClick={() => void incidents.fetchNextPage()}>
                {words.more}
              </Button>
            </div>
          )}
        </Card>
      </div>
    </>
  )
}

function Incidents({ rows }: { rows: readonly Incident[] }) {
  const words = useMessages(incidentsMessages)
  const format = useFormat()
  const columns: Column<Incident>[] = [
    {
      id: 'incident',
      header: words.incident,
      cell: ({ sentence, event, subject }) => {
        const path = subjectPath(subject)
        return (
          <div class="min-w-0">
            <div class="first-letter:uppercase">
              {path === undefined ? (
                sentence
              ) : (
                <Link href={path} class="hover:underline">
                  {sentence}
                </Link>
              )}
            </div>
            <div class="truncate font-mono text-sm text-muted">{event}</div>
          </div>
        )
      },
    },
    {
      id: 'when',
      header: words.when,
      width: '11rem',
      hide: 'sm',
      cell: ({ since, resolved_at }) => (
        <div>
          <RelativeTime at={since} />
          {resolved_at !== null && (
            <div class="text-sm text-muted">
              {words.lasted(format.duration(Math.max(0, Date.parse(resolved_at) - Date.parse(since))))}
            </div>
          )}
        </div>
      ),
    },
    {
      id: 'state',
      header: words.state,
      width: '8rem',
      cell: ({ resolved_at, severity }) =>
        resolved_at === null ? (
          <Badge tone={severity === 'critical' ? 'bad' : 'warn'} icon={CircleAlert}>
            {words.open}
          </Badge>
        ) : (
          <Badge tone="good" icon={CircleCheck}>
            {words.resolved}
          </Badge>
        ),
    },
  ]
  return (
    <Table
      label={words.past}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      empty={
        <EmptyState icon={CircleCheck} title={words.noPast} small>
          {words.noPastHint}
        </EmptyState>
      }
    />
  )
}
