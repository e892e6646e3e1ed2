/** `retoma queues …`: lists the queues with their counts and limits; pauses and resumes queues. */
import type { Command } from 'commander'
import type { QueueActionResult } from '../../index.ts'
import { queueWire } from '../../json-views.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
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

function line({ queue, paused, changed }: QueueActionResult, { status }: CliMessages): string {
  if (paused) return changed ? status.queuePaused(queue) : status.queuePausedAlready(queue)
  return changed ? status.queueGoesOn(queue) : status.queueGoesOnAlready(queue)
}
