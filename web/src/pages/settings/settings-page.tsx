/** The server, the session, and the checks of `retoma doctor`. */
import { CircleCheck, CircleHelp, CircleX, RotateCw, TriangleAlert } from 'lucide-react'
import type { Answer } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { withBase } from '../../lib/base-path.ts'
import { settingsMessages } from './messages.ts'

type Check = Answer<'GET /api/v1/doctor'>['checks'][number]

const looks = {
  ok: { tone: 'good', icon: CircleCheck },
  warning: { tone: 'warn', icon: TriangleAlert },
  failure: { tone: 'bad', icon: CircleX },
  unseen: { tone: 'idle', icon: CircleHelp },
} as const

const order = { failure: 0, warning: 1, unseen: 2, ok: 3 } as const

export default function SettingsPage() {
  const words = useMessages(settingsMessages)
  const session = useSession()
  const isAdmin = useCan('admin')
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <div class="flex flex-col gap-4">
        <Card title={words.server}>
          <Loading of={session}>
            {({ version, user, role, via, systems, simulated }) => (
              <dl class="flex flex-col gap-2">
                <Fact term={words.version}>{version}</Fact>
                <Fact term={words.user}>{via === 'open' ? words.open : user}</Fact>
                <Fact term={words.role}>{words[role]}</Fact>
                <Fact term={words.timeZone}>{Intl.DateTimeFormat().resolvedOptions().timeZone}</Fact>
                <Fact term={words.systems}>{systems.map(({ name }) => name).join(', ') || words.none}</Fact>
                <Fact term={words.simulated}>{simulated.join(', ') || words.none}</Fact>
                <Fact term="API">
                  <a href={withBase('/api/docs')} class="text-accent hover:underline">
                    {words.docs}
                  </a>
                </Fact>
              </dl>
            )}
          </Loading>
        </Card>
        {isAdmin ? <Doctor /> : session.data !== undefined && <Sentence kind="info">{words.adminOnly}</Sentence>}
      </div>
    </>
  )
}

const Fact = ({ term, children }: { term: string; children: preact.ComponentChildren }) => (
  <div class="flex flex-col sm:flex-row sm:gap-3">
    <dt class="shrink-0 text-muted sm:w-44">{term}</dt>
    <dd class="min-w-0">{children}</dd>
  </div>
)

function Doctor() {
  const words = useMessages(settingsMessages)
  const doctor = useApi('GET /api/v1/doctor')
  const columns: Column<Check>[] = [
    {
      id: 'state',
      header: words.state,
      width: '8rem',
      cell: ({ verdict }) => (
        <Badge tone={looks[verdict].tone} icon={looks[verdict].icon}>
          {words[verdict]}
        </Badge>
      ),
    },
    {
      id: 'finding',
      header: words.finding,
      cell: ({ sentence, advice }) => (
        <div>
          <p class="first-letter:uppercase">{sentence}</p>
          {advice !== null && <p class="text-muted first-letter:uppercase">{advice}</p>}
        </div>
      ),
    },
  ]
  return (
    <Card
      title={words.doctor}
      hint={words.doctorHint}
      flush
      actions={
        <Button size="sm" icon={RotateCw} busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
          {words.again}
        </Button>
      }
    >
      <Loading of={doctor} lines={8}>
        {({ failures, warnings, checks }) => (
          <>
            <p class="border-b px-4 py-2 text-muted">
              {failures + warnings === 0 ? words.allGood : words.problems(failures, warnings)}
            </p>
            <Table
              label={words.doctor}
              columns={columns}
              rows={[...checks].sort((a, b) => order[a.verdict] - order[b.verdict])}
              keyOf={({ check }) => check}
            />
          </>
        )}
      </Loading>
    </Card>
  )
}
