/** `retoma jobs update ID`: changes a waiting job: its earliest start, its priority, its input. */
import type { Command } from 'commander'
import type { Duration } from '../../../lib/values/duration.ts'
import { duration, instant, json, wholeNumber, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { loadApps } from '../../load-apps.ts'
import { osUser } from '../../os-user.ts'
import type { Cli } from '../../program.ts'

interface UpdateFlags {
  runAt?: Date
  delay?: Duration
  priority?: number
  input?: string
}

export function updateCommand(jobs: Command, cli: Cli): void {
  const { help } = cli.output.word
  jobs
    .command('update')
    .description(help.jobsUpdate)
    .argument('<id>', help.id)
    .option('--run-at <instant>', help.runAt, instant('--run-at'))
    .option('--delay <duration>', help.delay, duration('--delay'))
    .option('--priority <n>', help.priority, wholeNumber('--priority', 0, 9))
    .option('--input <json>', help.newInput)
    .action(cli.action(update))
}

async function update(context: Context, id: string, { input, ...when }: UpdateFlags): Promise<void> {
  const { output } = context
  if (when.delay !== undefined && when.runAt !== undefined) throw wrongUse(word => word.wrong.runAtAndDelay)
  const changes = { ...when, ...(input === undefined ? {} : { input: json(input) }) }
  if (Object.keys(changes).length === 0) throw wrongUse(word => word.wrong.noChange)
  await refuseWithoutData(context)
  // Only the code of the kind can check an input.
  const jobs = input === undefined ? [] : (await loadApps(context)).jobs
  const updated = await withEngine(context, { jobs }, engine => engine.jobs.update(id, changes, osUser()))
  output.answer(updated, [output.word.jobs.updated(id), output.word.jobs.see(id)])
}
