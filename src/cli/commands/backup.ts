/** `retoma backup FILE`: writes everything in Retoma's schema to a single file. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { countOf, sizeOf } from '../../lib/values/format-number.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withDatabase } from '../command-database.ts'
import type { Cli } from '../program.ts'

export function backupCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('backup')
    .description(help.backup)
    .argument('<file>', help.backupFile)
    .option('--force', help.backupForce)
    .action(cli.action(backup))
}

async function backup(context: Context, given: string, { force = false }: { force?: boolean }): Promise<void> {
  const { output, folder, settings, log } = context
  await refuseWithoutData(context)
  const { backupDatabase } = await import('../../maintenance/index.ts')
  const { file, bytes, schema, at, rows } = await withDatabase(context, ({ place, embedded }, signal) =>
    backupDatabase({
      ...place,
      schema: settings.RETOMA_SCHEMA,
      databaseDirectUrl: embedded ? undefined : settings.DATABASE_DIRECT_URL,
      file: resolve(folder, given),
      force,
      log,
      signal,
    }),
  )
  output.answer({ file, bytes, schema, at, rows }, [
    output.word.backup.wrote(given, sizeOf(bytes, output.language), countOf(rows, output.language)),
  ])
}
