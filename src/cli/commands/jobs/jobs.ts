/** `retoma jobs …`: the command group; each command has its own file. */
import type { Command } from 'commander'
import type { Cli } from '../../program.ts'
import { cancelCommand, eraseCommand, retryCommand } from './jobs-actions.ts'
import { enqueueCommand } from './jobs-enqueue.ts'
import { listCommand } from './jobs-list.ts'
import { showCommand } from './jobs-show.ts'
import { updateCommand } from './jobs-update.ts'

export function jobsCommand(program: Command, cli: Cli): void {
  const jobs = program.command('jobs').description(cli.output.word.help.jobs)
  jobs.helpCommand(`help ${cli.output.word.help.commandMark}`, cli.output.word.help.helpCommand)
  for (const add of [
    listCommand,
    showCommand,
    enqueueCommand,
    updateCommand,
    retryCommand,
    cancelCommand,
    eraseCommand,
  ])
    add(jobs, cli)
}
