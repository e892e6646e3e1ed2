/**
 * `retoma doctor`: runs the checks, with a line each; exits with 1 if a check fails. `--bundle` writes the findings to a file for a
 * helper.
 */
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { isRetomaError, localized, type RetomaError } from '../../errors/errors.ts'
import type { System } from '../../http/index.ts'
import { writeAtomically } from '../../lib/atomic-file.ts'
import { systemClock } from '../../lib/clock.ts'
import type { DoctorReport } from '../../maintenance/index.ts'
import type { Check } from '../../maintenance/model/doctor-check.ts'
import { failure, ok } from '../../maintenance/model/doctor-check.ts'
import type { Context } from '../command-context.ts'
import { type Database, refuseWithoutData, withDatabase } from '../command-database.ts'
import { bundleOf, checkWire } from '../doctor-bundle.ts'
import { fields } from '../format/text-table.ts'
import { loadApps } from '../load-apps.ts'
import { asRetomaError, type Output } from '../output.ts'
import type { Cli } from '../program.ts'

export function doctorCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('doctor')
    .description(help.doctor)
    .option('--bundle', help.doctorBundle)
    .action(cli.action(doctor, { quiet: true, examine: true }))
}

async function doctor(context: Context, { bundle = false }: { bundle?: boolean }): Promise<number> {
  const { output } = context
  const { systems, trouble: badConfig } = await systemsOf(context)
  const problems = [...context.problems, ...badConfig]
  const found = await checkAll(context, systems)
  const checks = [settingsCheck(problems), ...found.checks]
  const written = bundle
    ? await writeBundle({ ...context, problems }, { ...found, checks }).catch(asRetomaError)
    : undefined
  const trouble = isRetomaError(written) ? written : undefined
  const file = isRetomaError(written) ? undefined : written

  const failures = checks.filter(each => each.verdict === 'failure').length
  const warnings = checks.filter(each => each.verdict === 'warning').length
  const error = trouble && { code: trouble.code, message: trouble.in(output.language) }
  output.answer(
    {
      ok: failures === 0,
      failures,
      warnings,
      checks: checks.map(each => checkWire(each, output)),
      bundle: file ?? null,
      ...(error ? { error } : {}),
    },
    [
      ...lines(checks, output),
      '',
      output.word.doctor.sum(failures, warnings),
      ...(file === undefined ? [] : [output.word.doctor.bundle(file)]),
    ],
  )
  // Printed in addition to the checks, because the findings are useful without the file.
  if (error) output.note(`${output.word.error} ${error.code}: ${error.message}`)
  return failures === 0 && error === undefined ? 0 : 1
}

/** The systems of the config. A config that cannot be loaded is a finding, and the other checks go on. */
async function systemsOf(context: Context): Promise<{ systems: readonly System[]; trouble: RetomaError[] }> {
  try {
    return { systems: (await loadApps(context)).systems, trouble: [] }
  } catch (error) {
    return { systems: [], trouble: [asRetomaError(error)] }
  }
}

/** If the database cannot be reached, the error itself is the finding. */
async function checkAll(context: Context, systems: readonly System[]): Promise<DoctorReport> {
  const { unreachable } = await import('../../maintenance/index.ts')
  const broken = context.problems.find(each => ['DATABASE_URL', 'RETOMA_DATA_DIR'].includes(String(each.facts.name)))
  if (broken !== undefined) return unreachable(broken)
  let reached = false
  try {
    await refuseWithoutData(context)
    return await withDatabase(context, async database => {
      reached = true
      return examineDatabase(context, database, systems)
    })
  } catch (error) {
    if (reached) throw error
    return unreachable(error)
  }
}

async function examineDatabase(
  { settings, log }: Context,
  { place, embedded }: Database,
  systems: readonly System[],
): Promise<DoctorReport> {
  const disk = embedded && (await statfs(embedded.folder).catch(() => undefined))
  const direct = embedded ? undefined : settings.DATABASE_DIRECT_URL
  const { examine } = await import('../../maintenance/index.ts')
  return examine({
    ...place,
    schema: settings.RETOMA_SCHEMA,
    ...(direct ? { databaseDirectUrl: direct } : {}),
    ...(disk ? { freeBytes: disk.bavail * disk.bsize } : {}),
    systems,
    log,
  })
}

function settingsCheck(problems: readonly RetomaError[]): Check {
  if (problems.length === 0)
    return ok('settings', localized('every setting is usable', 'todas as configurações servem'))
  const all = (language: 'en' | 'pt') => problems.map(each => each.in(language)).join('; ')
  return failure(
    'settings',
    localized(all('en'), all('pt')),
    localized('put it right in the environment or in .env', 'corrija no ambiente ou no .env'),
  )
}

function lines(checks: readonly Check[], { word, language }: Output): string[] {
  return fields(
    checks.map(({ name, verdict, sentence, advice }) => [
      word.doctor.verdict[verdict],
      `${name}: ${sentence[language]}${advice === undefined ? '' : `\n→ ${advice[language]}`}`,
    ]),
  )
}

/** In this folder, with the time in the name. */
async function writeBundle(context: Context, found: DoctorReport): Promise<string> {
  const now = systemClock.now()
  const name = `retoma-doctor-${now.toISOString().replace(/[-:]/g, '').slice(0, 15)}.json`
  const connection = await context.connection().catch(() => undefined)
  const text = bundleOf(context, found, now, connection)
  await writeAtomically(join(context.folder, name), Readable.from([text]), { replace: true })
  return name
}
