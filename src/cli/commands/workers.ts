/** `retoma workers`: lists the workers, with the age of each heartbeat by the database's clock. */
import type { Command } from 'commander'
import type { WorkerView } from '../../index.ts'
import { workerWire } from '../../json-views.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { relative } from '../format/relative-time.ts'
import { table } from '../format/text-table.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'

/** A smaller lag of the event loop is normal. */
const worthSayingMs = 200

export function workersCommand(program: Command, cli: Cli): void {
  program.command('workers').description(cli.output.word.help.workers).action(cli.action(workers))
}

async function workers(context: Context): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const found = await withEngine(context, {}, engine => engine.workers.list())
  output.answer({ items: found.map(workerWire), next: null }, workerLines(found, output))
}

export function workerLines(workers: readonly WorkerView[], { word, language }: Output): string[] {
  const { status } = word
  if (workers.length === 0) return [status.noWorkers]
  const now = systemClock.now()
  const rows = table(
    status.workers,
    workers.map(worker => [
      worker.id,
      relative(new Date(now.getTime() - worker.heartbeatAgeSeconds * 1000), now, language),
      stateOf(worker, status),
      worker.running,
      { right: worker.abandoned > 0 ? String(worker.abandoned) : '' },
      { right: (worker.loopLagMs ?? 0) >= worthSayingMs ? `${worker.loopLagMs} ms` : '' },
      Object.entries(worker.queues)
        .map(([queue, size]) => `${queue}:${size}`)
        .join(' '),
      worker.host,
      worker.pid,
      relative(worker.startedAt, now, language),
    ]),
  )
  return [...rows, ...workers.flatMap(worker => blockedLine(worker, status))]
}

type Words = Output['word']['status']

function stateOf({ dead, suspected, blocked }: WorkerView, words: Words): string {
  if (dead) return words.dead
  if (suspected) return words.suspected
  return blocked === null ? words.alive : words.blocked
}

/** The job that blocks the event loop, and the innermost function of the stack. */
function blockedLine({ id, dead, blocked }: WorkerView, words: Words): string[] {
  if (blocked === null || dead) return []
  const by = blocked.job === null ? words.blockedByNobody : words.blockedBy(blocked.job)
  const [top] = blocked.stack?.split(' < ') ?? []
  return [words.blockedFor(id, Math.round(blocked.seconds), top === undefined ? by : `${by}: ${top}`)]
}
