/** `retoma batch …`: the command group; the reading and the acting commands have files of their own. */
import type { Command } from 'commander'
import type { Cli } from '../../program.ts'
import { batchActionCommands } from './batch-actions.ts'
import { failuresCommand } from './batch-failures.ts'
import { itemsCommand } from './batch-items.ts'
import { listCommand } from './batch-list.ts'
import { showCommand } from './batch-show.ts'

export function batchCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const batch = program.command('batch').description(help.batch)
  batch.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  for (const add of [listCommand, showCommand, itemsCommand, failuresCommand, batchActionCommands]) add(batch, cli)
}
