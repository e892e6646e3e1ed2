/** `retoma migrate`: migrates the schema up to the newest version, or up or down to a given version. */
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { withDatabase } from '../command-database.ts'
import type { Cli } from '../program.ts'

export function migrateCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('migrate')
    .description(help.migrate)
    .option('--to <version>', help.migrateTo, wholeNumber('--to', 0, 999_999))
    .option('--force', help.migrateForce)
    .action(cli.action(migrate))
}

async function migrate(context: Context, options: { to?: number; force?: true }): Promise<void> {
  const { output, log } = context
  const { migrateDatabase } = await import('../../maintenance/index.ts')
  const { from, to, ran } = await withDatabase(context, ({ url }) =>
    migrateDatabase({ databaseUrl: url, log, ...options }),
  )
  const word = output.word.migrate
  output.answer({ from, to, ran }, ran.length === 0 ? [word.nothing(to)] : [...ran.map(word.ran), word.done(from, to)])
}
