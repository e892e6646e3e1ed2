/** `retoma queues …`: lists the queues with their counts and limits; pauses, resumes and clears queues. */
import type { Command } from 'commander'
import type { QueueActionResult, QueueClearResult } from '../../index.ts'
import { queueWire } from '../../json-views.ts'
import { wrongUse } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { canAsk, confirm } from '../confirm.ts'
import type { CliMessages } from '../messages/index.ts'
import { osUser } from '../os-user.ts'
import type { Cli } from '../program.ts'
import { queueLines } from './status.ts'

export function queuesCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const queues = program.command('queues').description(help.queues)
  queues.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  queues.command('list').description(help.queuesList).action(cli.action(list))
  const subcommand = (name: 'pause' | 'resume', description: string) =>
    queues
      .command(name)
      .description(description)
      .argument('<queues...>', help.queueNames)
      .action(cli.action((context: Context, names: string[]) => applyToEach(context, names, name === 'pause')))
  subcommand('pause', help.queuesPause)
  subcommand('resume', help.queuesResume)
  queues
    .command('clear')
    .description(help.queuesClear)
    .argument('<queues...>', help.queueNames)
    .option('--yes', help.clearYes)
    .option('--dry-run', help.clearDryRun)
    .action(cli.action(clear))
}

async function list(context: Context): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const found = await withEngine(context, {}, engine => engine.queues.list())
  output.answer({ items: found.map(queueWire), next: null }, queueLines(found, output))
}

async function applyToEach(context: Context, names: readonly string[], pause: boolean): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const items = await withEngine(context, {}, async engine => {
    const all: QueueActionResult[] = []
    for (const name of names)
      all.push(await (pause ? engine.queues.pause(name, osUser()) : engine.queues.resume(name, osUser())))
    return all
  })
  output.answer(
    { items, next: null },
    items.map(item => line(item, output.word)),
  )
}

/** Counts, asks and cancels. Returns the exit code. */
async function clear(
  context: Context,
  names: readonly string[],
  { yes, dryRun }: { yes?: true; dryRun?: true },
): Promise<number> {
  const { output } = context
  const { status } = output.word
  await refuseWithoutData(context)
  return withEngine(context, {}, async (engine, asked) => {
    const items: { queue: string; cancelled: number }[] = []
    for (const name of names) items.push(countOf(await engine.queues.clear(name, { dryRun: true })))
    const waiting = items.reduce((sum, each) => sum + each.cancelled, 0)
    const answer = (lines: string[]) => output.answer({ items, next: null, dry_run: dryRun === true }, lines)
    if (dryRun) {
      answer(items.map(each => status.queueWaiting(each.queue, each.cancelled)))
      return 0
    }
    if (!yes && (output.json || !canAsk())) throw wrongUse(word => word.status.clearNeedsYes(waiting))
    if (!yes && !(await confirm(status.askClear(waiting), asked))) {
      for (const each of items) each.cancelled = 0
      answer([output.word.jobs.bulk.declined])
      return 1
    }
    for (const each of items) {
      each.cancelled = 0
      for (let done = false; !done && !asked.aborted; ) {
        const some = await engine.queues.clear(each.queue, osUser())
        each.cancelled += some.cancelled
        done = some.done
      }
    }
    answer(items.map(each => status.queueCleared(each.queue, each.cancelled)))
    return 0
  })
}

const countOf = ({ queue, cancelled }: QueueClearResult) => ({ queue, cancelled })

function line({ queue, paused, changed }: QueueActionResult, { status }: CliMessages): string {
  if (paused) return changed ? status.queuePaused(queue) : status.queuePausedAlready(queue)
  return changed ? status.queueGoesOn(queue) : status.queueGoesOnAlready(queue)
}
