/** Everything that is known of one worker. */
import { Link } from 'wouter'
import type { ItemOf } from '../../api/query.ts'
import { Card } from '../../components/card.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { workersMessages } from './messages.ts'

type Worker = ItemOf<'GET /api/v1/workers'>

/** The jobs that run on a worker, as a link to their list. */
export function RunningJobs({ worker: { id, running, queues } }: { worker: Worker }) {
  const format = useFormat()
  const words = useMessages(workersMessages)
  const slots = Object.values(queues).reduce((sum, each) => sum + each, 0)
  return (
    <>
      {running === 0 || running === null ? (
        format.number(running)
      ) : (
        <Link
          href={`/jobs?worker=${encodeURIComponent(id)}&state=running`}
          class="font-medium text-accent hover:underline"
          aria-label={words.seeJobs(running)}
        >
          {format.number(running)}
        </Link>
      )}
      <span class="text-faint"> / {format.number(slots)}</span>
    </>
  )
}

export function WorkerFacts({ worker }: { worker: Worker }) {
  const words = useMessages(workersMessages)
  const format = useFormat()
  return (
    <Card>
      <Facts>
        <Fact term="id">
          <span class="font-mono text-sm">{worker.id}</span>
        </Fact>
        <Fact term={words.heartbeat}>{format.duration(worker.heartbeat_age_seconds * 1000)}</Fact>
        <Fact term={words.running}>
          <RunningJobs worker={worker} />
        </Fact>
        <Fact term={words.memory}>{worker.memory_bytes === null ? '–' : format.bytes(worker.memory_bytes)}</Fact>
        <Fact term={words.lag}>{worker.loop_lag_ms === null ? '–' : format.duration(worker.loop_lag_ms)}</Fact>
        <Fact term={words.writeLag}>{format.duration(worker.write_lag_ms)}</Fact>
        <Fact term={words.version}>{worker.version}</Fact>
        <Fact term={words.started}>
          <RelativeTime at={worker.started_at} />
        </Fact>
        <Fact term={words.queues}>
          <ul class="flex flex-wrap gap-x-4">
            {Object.keys(worker.queues).length === 0 && <li>–</li>}
            {Object.entries(worker.queues).map(([queue, slots]) => (
              <li key={queue}>
                <Link href={`/queues/${encodeURIComponent(queue)}`} class="text-accent hover:underline">
                  {queue}
                </Link>{' '}
                <span class="text-muted">{format.number(slots)}</span>
              </li>
            ))}
          </ul>
        </Fact>
        <Fact term={words.kinds}>{worker.kinds.join(', ')}</Fact>
      </Facts>
    </Card>
  )
}
