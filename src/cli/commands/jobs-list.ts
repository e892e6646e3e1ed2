/** `retoma jobs list`: jobs, newest first, a page at a time. */
import type { Command } from 'commander'
import type { State } from '../../core/state.ts'
import type { JobView } from '../../index.ts'
import { systemClock } from '../../lib/clock.ts'
import { state, wholeNumber } from '../arguments.ts'
import type { Context } from '../context.ts'
import { refuseWithoutData, withEngine } from '../database.ts'
import type { Cli } from '../program.ts'
import { brief, table } from '../table.ts'
import { relative } from '../times.ts'
import type { Voice } from '../voice.ts'
import { jobWire } from '../wire.ts'

interface ListOptions {
  state?: State
  kind?: string
  queue?: string
  limit?: number
  after?: string
}

export function listCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.voice.word
  jobs
    .command('list')
    .description(help.jobsList)
    .option('--state <state>', help.state, state)
    .option('--kind <kind>', help.ofKind)
    .option('--queue <queue>', help.ofQueue)
    .option('--limit <n>', help.limit, wholeNumber('--limit', 1, 500))
    .option('--after <id>', help.after)
    .action(cli.action(list))
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { voice } = context
  await refuseWithoutData(context)
  const { state, kind, queue, limit, after } = options
  const { items, next } = await withEngine(context, {}, engine =>
    engine.jobs({
      state,
      kind,
      queue,
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after }),
    }),
  )
  voice.answer({ items: items.map(jobWire), next }, [
    ...(items.length === 0 ? [noJobs(options, voice)] : jobLines(items, voice)),
    ...(next === null ? [] : [voice.word.jobs.more(`retoma jobs list ${repeated(options)}--after ${next}`)]),
  ])
}

function noJobs({ state, kind, queue, after }: ListOptions, { word }: Voice): string {
  if (after !== undefined) return word.jobs.noneAfter
  return (state ?? kind ?? queue) ? word.jobs.noneSuch : word.jobs.none
}

function jobLines(items: readonly JobView[], { word, language }: Voice): string[] {
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

/** The same filter again, for the command that shows the next page. */
const repeated = ({ after, ...same }: ListOptions): string =>
  Object.entries(same)
    .map(([name, value]) => `--${name} ${value} `)
    .join('')
