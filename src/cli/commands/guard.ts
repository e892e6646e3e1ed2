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
import type { Context } from '../command-context.ts'
import { isOwnDatabase, refuseWithoutData, withDatabase, withEngine } from '../command-database.ts'
import { guardLines, runLines } from '../format/guard-lines.ts'
import { type GuardFlags, guardOf, oneOffFlags } from '../guard-flags.ts'
import { loadApps } from '../load-apps.ts'
import { osUser } from '../os-user.ts'
import { asRetomaError } from '../output.ts'
import type { Cli } from '../program.ts'

const also = (value: string, before: string[] = []): string[] => [...before, value]

export function guardCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
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
  const run = await withDatabase(context, ({ place }, signal) =>
    guardOnce({ ...place, schema: context.settings.RETOMA_SCHEMA, guard, dryRun, signal, log: context.log }),
  )
  printRun(context, run)
  return run.refused.length === 0 ? 0 : 1
}

async function configured(context: Context, name: string | undefined, dryRun: boolean): Promise<number> {
  await refuseWithoutData(context)
  const { jobs, guards } = await loadApps(context)
  if (guards.length === 0 && name === undefined) throw wrongUse(word => word.guards.none)
  // The embedded database belongs to this folder; a shared database is migrated only on request.
  const migrate = await isOwnDatabase(context)
  return withEngine(context, { jobs, guards, migrate }, async engine => {
    if (name === undefined) return all(context, engine, guards, dryRun)
    const run = await engine.guards.run(name, { dryRun, ...osUser() })
    printRun(context, run)
    return run.refused.length === 0 ? 0 : 1
  })
}

/** A failing guard does not prevent the others from running. */
async function all(context: Context, engine: Engine, guards: readonly Guard[], dryRun: boolean): Promise<number> {
  const { output } = context
  const items: object[] = []
  let code = 0
  for (const { name } of guards) {
    const run = await engine.guards.run(name, { dryRun, ...osUser() }).catch(asRetomaError)
    if (isRetomaError(run)) {
      items.push({ name, error: { code: run.code, message: run.in(output.language) } })
      output.note(`${output.word.error} ${run.code}: ${name}: ${run.in(output.language)}`)
    } else {
      items.push(guardRunWire(run, output.language))
      if (!output.json) printRun(context, run)
    }
    if (isRetomaError(run) || run.refused.length > 0) code = 1
  }
  if (output.json) output.answer({ items, next: null }, [])
  return code
}

function printRun({ output }: Context, run: GuardRun): void {
  output.answer(guardRunWire(run, output.language), runLines(run, output))
  for (const { error } of run.refused.slice(0, 5))
    output.note(`${output.word.error} ${error.code}: ${error.in(output.language)}`)
  for (const warning of run.warnings) output.note(output.word.guards.warning(warning[output.language]))
}

async function list(context: Context): Promise<number> {
  const { output } = context
  await refuseWithoutData(context)
  const { jobs, guards } = await loadApps(context)
  const found = await withEngine(context, { jobs, guards }, engine => engine.guards.list())
  output.answer({ items: found.map(each => guardWire(each, output.language)), next: null }, guardLines(found, output))
  return 0
}
