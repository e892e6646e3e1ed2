/**
 * `retoma guard`: runs the guards of retoma.config now, or a guard described by flags. A guard by flags needs nothing of Retoma in the
 * database. `--dry-run` shows the changes without writing; `--list` shows the configured guards and their last runs.
 */
import type { Command } from 'commander'
import { isRetomaError } from '../../errors/errors.ts'
import type { Guard } from '../../guards/model/guard.ts'
import type { Engine, GuardRun } from '../../index.ts'
import { guardRunWire, guardWire } from '../../json-views.ts'
import { duration, wholeNumber, wrongUse } from '../arguments.ts'
import { loadApps } from '../bundled-apps.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withDatabase, withEngine } from '../command-database.ts'
import { guardLines, runLines } from '../format/guard-lines.ts'
import { type GuardFlags, guardOf, oneOffFlags } from '../guard-flags.ts'
import { osUser } from '../os-user.ts'
import { asRetomaError } from '../output.ts'
import type { Cli } from '../program.ts'

const also = (value: string, before: string[] = []): string[] => [...before, value]

export function guardCommand(program: Command, cli: Cli): void {
  const { help } = cli.voice.word
  program
    .command('guard')
    .description(help.guard)
    .argument('[name]', help.guardName)
    .option('--table <table>', help.guardTable)
    .option('--status <column=value>', help.guardStatus, also)
    .option('--signal <column>', help.guardSignal, also)
    .option('--after <duration>', help.guardAfter, duration('--after'))
    .option('--set <column=value>', help.guardSet, also)
    .option('--null <column>', help.guardNull, also)
    .option('--where <column=value>', help.guardWhere, also)
    .option('--limit <n>', help.guardLimit, wholeNumber('--limit', 1, 10_000))
    .option('--time-zone <zone>', help.guardTimeZone)
    .option('--dry-run', help.guardDryRun)
    .option('--list', help.guardList)
    .action(cli.action(guard))
}

async function guard(context: Context, name: string | undefined, flags: GuardFlags): Promise<number> {
  if (flags.table !== undefined && name !== undefined) throw wrongUse(word => word.wrong.guardNameAndTable)
  const stray = oneOffFlags.find(flag => flags[flag] !== undefined && flags.table === undefined)
  if (stray !== undefined) throw wrongUse(word => word.wrong.guardNeedsTable(stray))
  if (flags.list) return list(context)
  if (flags.table === undefined) return configured(context, name, flags.dryRun === true)
  return once(context, guardOf({ ...flags, table: flags.table }), flags.dryRun === true)
}

async function once(context: Context, guard: Guard, dryRun: boolean): Promise<number> {
  await refuseWithoutData(context)
  const { guardOnce } = await import('../../maintenance/index.ts')
  const run = await withDatabase(context, ({ url }, signal) =>
    guardOnce({ databaseUrl: url, guard, dryRun, signal, log: context.log }),
  )
  tell(context, run)
  return run.refused.length === 0 ? 0 : 1
}

async function configured(context: Context, name: string | undefined, dryRun: boolean): Promise<number> {
  await refuseWithoutData(context)
  const { jobs, guards } = await loadApps(context)
  if (guards.length === 0 && name === undefined) throw wrongUse(word => word.guards.none)
  // The embedded database belongs to this folder; a shared database is migrated only on request.
  const migrate = context.settings.DATABASE_URL === undefined
  return withEngine(context, { jobs, guards, migrate }, async engine => {
    if (name === undefined) return all(context, engine, guards, dryRun)
    const run = await engine.runGuard(name, { dryRun, ...osUser() })
    tell(context, run)
    return run.refused.length === 0 ? 0 : 1
  })
}

/** A failing guard does not prevent the others from running. */
async function all(context: Context, engine: Engine, guards: readonly Guard[], dryRun: boolean): Promise<number> {
  const { voice } = context
  const items: object[] = []
  let code = 0
  for (const { name } of guards) {
    const run = await engine.runGuard(name, { dryRun, ...osUser() }).catch(asRetomaError)
    if (isRetomaError(run)) {
      items.push({ name, error: { code: run.code, message: run.in(voice.language) } })
      voice.note(`${voice.word.error} ${run.code}: ${name}: ${run.in(voice.language)}`)
    } else {
      items.push(guardRunWire(run, voice.language))
      if (!voice.json) tell(context, run)
    }
    if (isRetomaError(run) || run.refused.length > 0) code = 1
  }
  if (voice.json) voice.answer({ items, next: null }, [])
  return code
}

function tell({ voice }: Context, run: GuardRun): void {
  voice.answer(guardRunWire(run, voice.language), runLines(run, voice))
  for (const { error } of run.refused.slice(0, 5))
    voice.note(`${voice.word.error} ${error.code}: ${error.in(voice.language)}`)
  for (const warning of run.warnings) voice.note(voice.word.guards.warning(warning[voice.language]))
}

async function list(context: Context): Promise<number> {
  const { voice } = context
  await refuseWithoutData(context)
  const { jobs, guards } = await loadApps(context)
  const found = await withEngine(context, { jobs, guards }, engine => engine.guards())
  voice.answer({ items: found.map(each => guardWire(each, voice.language)), next: null }, guardLines(found, voice))
  return 0
}
