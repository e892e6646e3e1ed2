/** `retoma status`: shows the queues, the unfinished batches, the workers, and the findings of the watchdog. */
import type { Command } from 'commander'
import type { BatchState, BatchView, Engine, GroupLimits, QueueLimits, QueueView } from '../../index.ts'
import { batchWire, findingWire, queueWire, workerWire } from '../../json-views.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/values/duration.ts'
import { namedGroups } from '../../limits/model/queue-limits.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { batchTable } from '../format/batch-lines.ts'
import { findingLines } from '../format/finding-lines.ts'
import { table } from '../format/text-table.ts'
import type { CliMessages } from '../messages/index.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'
import { workerLines } from './workers.ts'

export function statusCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program.command('status').description(help.status).option('--watch', help.statusWatch).action(cli.action(status))
}

const againMs = 2000
const clearScreen = '\u001b[H\u001b[2J'

async function status(context: Context, { watch }: { watch?: true }): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  await withEngine(context, {}, async (engine, asked) => {
    do {
      const [queues, workers, batches, findings] = await Promise.all([
        engine.queues.list(),
        engine.workers.list(),
        openBatches(engine),
        engine.metrics.findings(),
      ])
      if (watch && !output.json && process.stdout.isTTY) process.stdout.write(clearScreen)
      const wire = {
        queues: queues.map(queueWire),
        batches: batches.map(batchWire),
        workers: workers.map(workerWire),
        findings: findings.map(findingWire),
      }
      output.answer(wire, [
        ...queueLines(queues, output),
        ...batchLines(batches, output),
        '',
        ...workerLines(workers, output),
        ...(findings.length === 0 ? [] : ['', ...findingLines(findings, output)]),
      ])
      if (watch) await systemClock.sleep(againMs, asked)
    } while (watch && !asked.aborted)
  })
}

const openStates: readonly BatchState[] = ['submitting', 'waiting', 'running', 'paused', 'stalled']
const mostBatches = 10

/** The newest batches of each state that is not final. */
async function openBatches(engine: Engine): Promise<BatchView[]> {
  const pages = await Promise.all(openStates.map(state => engine.batches.list({ state, limit: mostBatches })))
  return pages.flatMap(page => page.items).sort((a, b) => Number(b.id) - Number(a.id))
}

function batchLines(batches: readonly BatchView[], output: Output): string[] {
  if (batches.length === 0) return []
  const { word } = output
  const shown = batches.slice(0, mostBatches)
  return [
    '',
    ...batchTable(shown, systemClock.now(), output),
    ...(batches.length > shown.length ? [word.batch.moreOpen('retoma batch list')] : []),
  ]
}

export function queueLines(queues: readonly QueueView[], { word }: Output): string[] {
  if (queues.length === 0) return [word.status.noQueues]
  return table(
    word.status.queues,
    queues.map(({ queue, ready, scheduled, running, stalled, paused, limits }) => [
      queue,
      ready,
      scheduled,
      running,
      stalled,
      [paused ? word.status.paused : '', limitsText(limits, word)].filter(Boolean).join('; '),
    ]),
  )
}

/** The limits of a queue in a single line; '' without limits. */
function limitsText({ perGroup = {}, fair, maxDepth, ...whole }: QueueLimits, { status }: CliMessages): string {
  const groupLimits = ({ concurrency, rate }: GroupLimits): string[] => [
    ...(concurrency === undefined ? [] : [status.atOnce(concurrency)]),
    ...(rate === undefined ? [] : [status.rate(rate.limit, formatDuration(rate.per))]),
  ]
  const { admit } = perGroup
  const group = [
    ...groupLimits(perGroup),
    ...(admit === undefined ? [] : [status.admit(admit.limit, formatDuration(admit.per))]),
  ].join(', ')
  const all = [
    ...groupLimits(whole),
    ...(group === '' ? [] : [status.perGroup(group)]),
    ...namedGroups(perGroup).map(([name, limits]) => status.ofGroup(groupLimits(limits).join(', '), name)),
    ...(fair === undefined ? [] : [status.fair(fair)]),
    ...(maxDepth === undefined ? [] : [status.maxDepth(maxDepth)]),
  ]
  return all.length === 0 ? '' : status.limits(all.join(', '))
}
