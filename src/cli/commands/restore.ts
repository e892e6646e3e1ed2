/** `retoma restore FILE`: restores a backup into an empty database, or in place of the existing data. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { countOf } from '../../lib/values/format-number.ts'
import type { Context } from '../command-context.ts'
import { withDatabase } from '../command-database.ts'
import { loadApps } from '../load-apps.ts'
import type { Cli } from '../program.ts'

export function restoreCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('restore')
    .description(help.restore)
    .argument('<file>', help.restoreFile)
    .option('--replace', help.restoreReplace)
    .action(cli.action(restore))
}

async function restore(context: Context, given: string, { replace = false }: { replace?: boolean }): Promise<void> {
  const { output, folder, settings, log } = context
  const { checkBackup, restoreDatabase } = await import('../../maintenance/index.ts')
  // Checked first, so that an unusable file does not lead to a new data folder.
  const { systems } = await loadApps(context)
  const backup = await checkBackup(resolve(folder, given), { systems })
  const { file, from, to, at, rows } = await withDatabase(context, ({ place, embedded }, signal) =>
    restoreDatabase({
      ...place,
      schema: settings.RETOMA_SCHEMA,
      databaseDirectUrl: embedded ? undefined : settings.DATABASE_DIRECT_URL,
      backup,
      systems,
      replace,
      log,
      signal,
    }),
  )
  const word = output.word.backup
  output.answer({ file, from, to, at, rows }, [
    word.restored(given, countOf(rows, output.language), at),
    ...(from === to ? [] : [word.migrated(from, to)]),
  ])
}
