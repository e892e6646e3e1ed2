/** `retoma batch list`: lists batches, newest first, a page at a time. */
import type { Command } from 'commander'
import type { BatchState } from '../../../index.ts'
import { batchWire } from '../../../json-views.ts'
import { systemClock } from '../../../lib/clock.ts'
import { batchState, wholeNumber } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { batchTable } from '../../format/batch-lines.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'
import { repeated } from '../jobs/jobs-list.ts'

interface ListOptions {
  state?: BatchState
  name?: string
  limit?: number
  after?: string
}

export function listCommand(batch: Command, cli: Cli): void {
  const { help } = cli.output.word
  batch
    .command('list')
    .description(help.batchList)
    .option('--state <state>', help.state, batchState)
    .option('--name <name>', help.ofName)
    .option('--limit <n>', help.limit, wholeNumber('--limit', 1, 500))
    .option('--after <id>', help.after)
    .action(cli.action(list))
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const { items, next } = await withEngine(context, {}, engine => engine.batches.list(options))
  output.answer({ items: items.map(batchWire), next }, [
    ...(items.length === 0 ? [noBatches(options, output)] : batchTable(items, systemClock.now(), output)),
    ...(next === null ? [] : [output.word.jobs.more(`retoma batch list ${repeated(options)}--after ${next}`)]),
  ])
}

function noBatches({ state, name, after }: ListOptions, { word }: Output): string {
  if (after !== undefined) return word.batch.noneAfter
  return (state ?? name) ? word.batch.noneSuch : word.batch.none
}
