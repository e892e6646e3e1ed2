/** One queue: counts, the explanation of why nothing is taken, limits, groups that are full, actions. */
import { ListChecks, Rows3, SlidersHorizontal } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { useApi, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Explanation } from '../../components/explanation.tsx'
import { Stat } from '../../components/stat.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { HistoryCharts } from '../../layout/history-charts.tsx'
import { PageHeader } from '../../layout/page-header.tsx'
import { LimitsDialog } from './limits-dialog.tsx'
import { limitTexts, type Queue } from './limits-text.ts'
import { queuesMessages } from './messages.ts'
import { ClearButton, PauseButton } from './queue-actions.tsx'
import { QueueGroups } from './queue-groups.tsx'
import { useQueueFacts } from './use-queue-facts.ts'

const refreshMs = 3000

export default function QueuePage() {
  const { name = '' } = useParams<{ name: string }>()
  const words = useMessages(queuesMessages)
  const queues = useApiList('GET /api/v1/queues', { query: { limit: 500 } }, { every: refreshMs })
  return (
    <Loading of={queues}>
      {({ items }) => {
        const queue = items.find(each => each.queue === name)
        if (queue !== undefined) return <OneQueue queue={queue} />
        return (
          <>
            <PageHeader title={words.notFound(name)} parent={{ href: '/queues', name: words.title }} />
            <EmptyState
              icon={Rows3}
              title={words.notFound(name)}
              action={
                <Link href="/queues" class="font-medium text-accent hover:underline">
                  {words.allQueues}
                </Link>
              }
            />
          </>
        )
      }}
    </Loading>
  )
}

function OneQueue({ queue }: { queue: Queue }) {
  const words = useMessages(queuesMessages)
  const format = useFormat()
  const may = useCan('operator')
  const isAdmin = useCan('admin')
  const [edits, setEdits] = useState(false)
  const [, navigate] = useLocation()
  const { queue: name, paused, limits } = queue
  const texts = limitTexts(limits, words, format)
  const facts = useQueueFacts(refreshMs)
  // The wait of the oldest job that may start; the button of a paused queue is beside the sentence.
  const explanation = useApi('GET /api/v1/queues/{name}/explain', { params: { name } }, { every: refreshMs }).data
  const oldest = facts.oldestSeconds(name)
  return (
    <>
      <PageHeader
        title={name}
        parent={{ href: '/queues', name: words.title }}
        mark={paused ? <StateBadge state="paused" /> : undefined}
        actions={
          <>
            <Button icon={ListChecks} onClick={() => navigate(`/jobs?queue=${encodeURIComponent(name)}`)}>
              {words.jobs}
            </Button>
            {may && !(paused && explanation !== undefined) && <PauseButton queue={queue} />}
            {may && <ClearButton queue={queue} />}
          </>
        }
      />
      <div class="flex flex-col gap-4">
        {explanation !== undefined && (
          <Explanation of={explanation} {...(may && paused && { action: <PauseButton queue={queue} /> })} />
        )}
        <Card>
          <div class="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3 lg:grid-cols-6">
            <Stat label={words.ready} value={format.number(queue.ready)} />
            <Stat label={words.oldest} value={oldest === null ? '–' : format.duration(oldest * 1000)} />
            <Stat
              label={words.running}
              value={format.number(queue.running)}
              tone={(queue.running ?? 0) > 0 ? 'busy' : 'idle'}
            />
            <Stat label={words.scheduled} value={format.number(queue.scheduled)} />
            <Stat
              label={words.stalled}
              value={format.number(queue.stalled)}
              tone={(queue.stalled ?? 0) > 0 ? 'warn' : 'idle'}
            />
            <Stat label={words.slots} value={`${format.number(queue.running)} / ${format.number(facts.slots(name))}`} />
          </div>
        </Card>
        <Card
          title={words.limits}
          {...(isAdmin && {
            actions: (
              <Button size="sm" icon={SlidersHorizontal} onClick={() => setEdits(true)}>
                {words.edit}
              </Button>
            ),
          })}
        >
          {texts.length === 0 ? (
            <p class="text-muted">{words.noLimits}</p>
          ) : (
            <ul class="flex flex-col gap-1">
              {texts.map(text => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          )}
        </Card>
        <QueueGroups queue={name} limits={limits} />
        <HistoryCharts queue={name} />
      </div>
      {edits && <LimitsDialog queue={queue} onClose={() => setEdits(false)} />}
    </>
  )
}
