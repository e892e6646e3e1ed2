/** `retoma batch show ID`: shows the progress of a batch, its failures and the next commands; with --watch until the batch is over. */
import type { Command } from 'commander'
import { RetomaError } from '../../../errors/errors.ts'
import type { BatchView, Engine, FailureGroup } from '../../../index.ts'
import { batchWire, failureGroupWire } from '../../../json-views.ts'
import { systemClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/logging/log.ts'
import { spanText } from '../../../lib/values/format-duration.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { countsToWrap, lastText, page, progressText, rateText, stateSentence } from '../../format/batch-lines.ts'
import { sentenceLines } from '../../format/explain-lines.ts'
import { when } from '../../format/relative-time.ts'
import { brief, fields, table, wrap } from '../../format/text-table.ts'
import { both } from '../../messages/index.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'
import { causeText, countText } from './batch-failures.ts'
import { drawnOn, printedBy, watchBatch } from './batch-watch.ts'

export function showCommand(batch: Command, cli: Cli): void {
  const { help } = cli.output.word
  batch
    .command('show')
    .description(help.batchShow)
    .argument('<id>', help.batchId)
    .option('--watch', help.batchWatch)
    .action(cli.action(show))
}

async function show(context: Context, id: string, { watch }: { watch?: true }): Promise<number> {
  const { output } = context
  await refuseWithoutData(context)
  const draws = watch && !output.json && process.stdout.isTTY && process.env.TERM !== 'dumb'
  // Log lines would interrupt the drawn block, which shows every important problem itself.
  const quiet = draws ? { ...context, log: silentLog } : context
  return withEngine(quiet, {}, async (engine, asked) => {
    if (!watch) {
      const batch = await batchOf(engine, id)
      await answer(batch, engine, output)
      return 0
    }
    const display = draws ? drawnOn(process.stdout, output) : printedBy(output)
    const read = () => batchOf(engine, id)
    const batch = await watchBatch({ read, display, clock: systemClock, asked: orReaderGone(asked) })
    if (batch === undefined) return 0
    display.over()
    await answer(batch, engine, output)
    return batch.state === 'succeeded' ? 0 : 1
  })
}

/** Stops when no reader is left (`| head`). */
function orReaderGone(asked: AbortSignal): AbortSignal {
  const gone = new AbortController()
  process.stdout.once('error', () => gone.abort())
  return AbortSignal.any([asked, gone.signal])
}

/** Throws `not_found`, also for the id of a job. */
export async function batchOf(engine: Engine, id: string): Promise<BatchView> {
  const batch = await engine.batch(id)
  if (batch === null) throw new RetomaError('not_found', { what: both(word => word.batch.batch), id })
  return batch
}

async function answer(batch: BatchView, engine: Engine, output: Output): Promise<void> {
  const causes = batch.failed > 0 ? await engine.batches.failures(batch.id) : []
  const { sentence } = await engine.explain({ batch: batch.id }, { language: output.language })
  output.answer({ ...batchWire(batch), causes: causes.map(failureGroupWire) }, [
    ...batchFields(batch, output),
    '',
    ...sentenceLines(sentence),
    ...causeLines(batch, causes, output),
    ...nextLines(batch, output),
  ])
}

function batchFields(batch: BatchView, output: Output): string[] {
  const { word, language } = output
  const now = systemClock.now()
  const { labels } = word.batch
  const room = page - 2 - Math.max(...Object.values(labels).map(label => label.length))
  const shown: Record<keyof typeof labels, string> = {
    batch: word.batch.named(batch.id, batch.name),
    state: stateSentence(batch, output),
    progress: progressText(batch, 30, output),
    items: countsToWrap(batch, output),
    pace: rateText(batch, output),
    left: batch.etaSeconds === null ? '' : word.batch.about(spanText(batch.etaSeconds)),
    last: lastText(batch, now, output),
    cost: batch.cost.map(({ currency, amount }) => `${currency} ${amount}`).join(', '),
    resumes: word.batch.ofMost(batch.resumes, batch.maxResumes),
    kind: word.batch.inQueue(batch.kind, batch.queue),
    priority: String(batch.priority),
    key: brief(batch.key ?? ''),
    created: when(batch.createdAt, now, language),
    finished: batch.finishedAt === null ? '' : when(batch.finishedAt, now, language),
    completeJob: batch.completeJob === null ? '' : word.batch.completeJob(batch.completeJob),
  }
  return fields(
    (Object.keys(labels) as (keyof typeof labels)[])
      .filter(name => shown[name] !== '')
      .map(name => [labels[name], wrap(shown[name], room).join('\n')] as const),
  )
}

const mostCauses = 3

function causeLines({ id }: BatchView, causes: readonly FailureGroup[], output: Output): string[] {
  if (causes.length === 0) return []
  const { word } = output
  const rest = causes.length - mostCauses
  const rows = causes
    .slice(0, mostCauses)
    .map(group => [{ right: countText(group, output) }, causeText(group), brief(group.message, page)])
  return [
    '',
    word.batch.causes,
    ...table(word.batch.causeColumns, rows, { fit: page - 2 }).map(line => `  ${line}`),
    ...(rest > 0 ? [`  ${word.batch.moreCauses(rest, `retoma batch failures ${id}`)}`] : []),
  ]
}

/** The next commands, each with its effect. */
function nextLines(batch: BatchView, { word }: Output): string[] {
  const { hints, next } = word.batch
  const { id, state } = batch
  const apply = (action: string, hint: string): [string, string] => [`retoma batch ${action} ${id}`, hint]
  const steps = [
    ...(state === 'paused' || state === 'stalled' ? [apply('resume', hints.resume)] : []),
    ...(batch.failed > 0 && state !== 'cancelled' ? [apply('failures', hints.failures)] : []),
    ...(batch.failed > 0 && ['completed_with_failures', 'failed'].includes(state)
      ? [apply('retry-failed', hints.retryFailed)]
      : []),
  ]
  if (state === 'submitting')
    return ['', batch.key === null ? hints.giveUpSubmit : hints.continueSubmit, `  retoma batch cancel ${id}`]
  return steps.length === 0 ? [] : ['', next, ...fields(steps).map(line => `  ${line}`)]
}
