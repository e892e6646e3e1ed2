/** `retoma batch items ID`: lists the jobs of a batch, oldest first, or failed jobs by error fingerprint; a page at a time. */
import type { Command } from 'commander'
import type { JobView, ListPage } from '../../../index.ts'
import type { JobState } from '../../../jobs/model/state.ts'
import { jobWire } from '../../../json-views.ts'
import { cause as causeOf, state, wholeNumber, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { page, short } from '../../format/batch-lines.ts'
import { brief, table } from '../../format/text-table.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'
import { repeated } from '../jobs/jobs-list.ts'

interface ItemsOptions {
  state?: JobState
  cause?: string
  limit?: number
  after?: string
}

export function itemsCommand(batch: Command, cli: Cli): void {
  const { help } = cli.output.word
  batch
    .command('items')
    .description(help.batchItems)
    .argument('<id>', help.batchId)
    .option('--state <state>', help.state, state)
    .option('--cause <cause>', help.cause, causeOf)
    .option('--limit <n>', help.limit, wholeNumber('--limit', 1, 500))
    .option('--after <id>', help.after)
    .action(cli.action(items))
}

async function items(context: Context, id: string, options: ItemsOptions): Promise<void> {
  const { output } = context
  const { cause } = options
  if (cause !== undefined && (options.state ?? 'failed') !== 'failed') throw wrongUse(word => word.wrong.causeAndState)
  await refuseWithoutData(context)
  const filter = cause === undefined ? options : { ...options, state: 'failed' as const }
  const found = await withEngine(context, {}, (engine, asked) =>
    fullPage(page => engine.batches.items(id, { ...filter, ...page }), options, asked),
  )
  output.answer({ items: found.items.map(jobWire), next: found.next }, [
    ...(found.items.length === 0 ? [noItems(options, output)] : itemLines(found.items, output)),
    ...(found.next === null
      ? []
      : [output.word.jobs.more(`retoma batch items ${id} ${repeated(options)}--after ${found.next}`)]),
  ])
}

/** Each call of the engine examines only a limited number of jobs: repeats until the page is full. */
export async function fullPage(
  ask: (page: { limit: number; after?: string }) => Promise<ListPage<JobView>>,
  { limit = 50, after: first }: { limit?: number; after?: string },
  asked: AbortSignal,
): Promise<ListPage<JobView>> {
  const items: JobView[] = []
  for (let after = first; ; ) {
    const more = await ask({ limit: limit - items.length, ...(after === undefined ? {} : { after }) })
    items.push(...more.items)
    if (more.next === null || items.length === limit || asked.aborted) return { items, next: more.next }
    after = more.next
  }
}

function noItems({ state, cause, after }: ItemsOptions, { word }: Output): string {
  if (after !== undefined) return word.batch.noMoreItems
  return state === undefined && cause === undefined ? word.batch.noneOfItems : word.batch.noneOfSuchItems
}

export const itemLines = (items: readonly JobView[], { word }: Output): string[] =>
  table(
    word.batch.itemColumns,
    items.map(job => [job.id, short(job.ref ?? ''), job.state, job.attempt, brief(job.error?.message ?? '')]),
    { fit: page },
  )
