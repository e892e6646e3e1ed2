/** `retoma jobs list`: lists jobs, newest first, a page at a time. */
import type { Command } from 'commander'
import type { JobView } from '../../../index.ts'
import type { JobState } from '../../../jobs/model/state.ts'
import { jobWire } from '../../../json-views.ts'
import { systemClock } from '../../../lib/clock.ts'
import { state, wholeNumber, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { relative } from '../../format/relative-time.ts'
import { brief, table } from '../../format/text-table.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'
import { fullPage } from '../batch/batch-items.ts'

interface ListOptions {
  state?: JobState
  kind?: string
  queue?: string
  batch?: string
  limit?: number
  after?: string
}

export function listCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  jobs
    .command('list')
    .description(help.jobsList)
    .option('--state <state>', help.state, state)
    .option('--kind <kind>', help.ofKind)
    .option('--queue <queue>', help.ofQueue)
    .option('--batch <id>', help.ofBatch)
    .option('--limit <n>', help.limit, wholeNumber('--limit', 1, 500))
    .option('--after <id>', help.after)
    .action(cli.action(list))
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { output } = context
  const { state, kind, queue, batch } = options
  if (batch !== undefined && (kind ?? queue) !== undefined) throw wrongUse(word => word.wrong.batchAndOthers)
  await refuseWithoutData(context)
  const ofState = state === undefined ? {} : { state }
  const { items, next } = await withEngine(context, {}, (engine, asked) =>
    fullPage(
      page =>
        batch === undefined
          ? engine.jobs.list({ state, kind, queue, ...page })
          : engine.batches.items(batch, { ...ofState, ...page }),
      options,
      asked,
    ),
  )
  output.answer({ items: items.map(jobWire), next }, [
    ...(items.length === 0 ? [noJobs(options, output)] : jobLines(items, output)),
    ...(next === null ? [] : [output.word.jobs.more(`retoma jobs list ${repeated(options)}--after ${next}`)]),
  ])
}

function noJobs({ state, kind, queue, batch, after }: ListOptions, { word }: Output): string {
  if (after !== undefined) return word.jobs.noneAfter
  return (state ?? kind ?? queue ?? batch) ? word.jobs.noneSuch : word.jobs.none
}

export function jobLines(items: readonly JobView[], { word, language }: Output): string[] {
  const now = systemClock.now()
  return table(
    word.jobs.columns,
    items.map(job => [
      job.id,
      job.kind,
      job.queue,
      job.state,
      job.attempt,
      relative(job.createdAt, now, language),
      job.ref ?? '',
      brief(job.error?.message ?? ''),
    ]),
  )
}

/** The filter of this page as options for the command that shows the next page, quoted for a shell. */
export const repeated = ({ after, ...same }: { after?: string }): string =>
  Object.entries(same)
    .map(([name, value]) => `--${name} ${quoted(String(value))} `)
    .join('')

/** A plain word stays unquoted; any other text gets single quotes, so that a shell passes a single argument. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
