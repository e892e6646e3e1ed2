/** `retoma migrate`: migrates the schema up to the newest version, or up or down to a given version. */
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { withDatabase } from '../command-database.ts'
import { loadApps } from '../load-apps.ts'
import type { Cli } from '../program.ts'

export function migrateCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('migrate')
    .description(help.migrate)
    .option('--to <version>', help.migrateTo, wholeNumber('--to', 0, 999_999))
    .option('--system <name>', help.migrateSystem)
    .option('--force', help.migrateForce)
    .action(cli.action(migrate))
}

async function migrate(context: Context, options: { to?: number; system?: string; force?: true }): Promise<void> {
  const { output, log } = context
  const loaded = await loadApps(context)
  const { migrateDatabase } = await import('../../maintenance/index.ts')
  const { from, to, ran, systems } = await withDatabase(context, ({ place }) =>
    migrateDatabase({
      ...place,
      schema: context.settings.RETOMA_SCHEMA,
      log,
      systems: loaded.systems,
      ...options,
    }),
  )
  const word = output.word.migrate
  const engine = options.system === undefined
  const own = ran.length === 0 ? [word.nothing(to)] : [...ran.map(word.ran), word.done(from, to)]
  output.answer({ from, to, ran, systems }, [
    ...(engine ? own : []),
    ...systems.flatMap(each => [...each.ran.map(word.ran), word.ofSystem(each.name, each.from, each.to)]),
  ])
}
