/**
 * `retoma batch failures ID`: lists the failures by error fingerprint, each with an example, some refs, and the command to retry the
 * items.
 */
import type { Command } from 'commander'
import type { FailureGroup } from '../../../index.ts'
import { failureGroupWire } from '../../../json-views.ts'
import { systemClock } from '../../../lib/clock.ts'
import { whole } from '../../../lib/values/format-number.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { page, short } from '../../format/batch-lines.ts'
import { ago } from '../../format/relative-time.ts'
import { brief, wrap } from '../../format/text-table.ts'
import type { Output } from '../../output.ts'
import type { Cli } from '../../program.ts'

export function failuresCommand(batch: Command, cli: Cli): void {
  const { help } = cli.output.word
  batch.command('failures').description(help.batchFailures).argument('<id>', help.batchId).action(cli.action(failures))
}

async function failures(context: Context, id: string): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const groups = await withEngine(context, {}, engine => engine.batches.failures(id))
  const lines = groups.flatMap((group, index) => [...(index > 0 ? [''] : []), ...groupLines(id, group, output)])
  output.answer(
    { items: groups.map(failureGroupWire), next: null },
    lines.length > 0 ? lines : [noFailures(id, output)],
  )
}

const noFailures = (id: string, { word }: Output) => word.batch.noFailures(id)

function groupLines(id: string, group: FailureGroup, output: Output): string[] {
  const { word, language } = output
  const last = ago(group.lastAt, systemClock.now(), language)
  const example = group.code === null ? group.message : `${group.code}: ${group.message}`
  const refs = group.refs.map(ref => short(ref)).join(', ')
  return [
    word.batch.group(countText(group, output), group.count === 1, last),
    ...wrap(brief(example, 300), page - 2).map(line => `  ${line}`),
    ...(refs === '' ? [] : wrap(word.batch.refs(refs), page - 2).map(line => `  ${line}`)),
    `  ${word.batch.runAgain(`retoma batch retry-failed ${id} --cause ${causeText(group)}`)}`,
  ]
}

/** `10,000+` if there are more failures than counted. */
export const countText = ({ count, more }: FailureGroup, { language }: Output): string =>
  `${whole(count, language)}${more ? '+' : ''}`

/** Quoted for a shell: failures without a fingerprint have an empty cause. */
export const causeText = ({ cause }: FailureGroup): string => cause || "''"
