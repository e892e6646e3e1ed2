/**
 * Reads environment variables by a table: the meaning, the default and the check of each. The engine reads its settings so (index.ts),
 * and a system reads its own: `readSystemSettings({ SHOP_KEY: { meaning, absent, read: settingChecks.text } })`.
 *
 * Invariant: returned settings are usable; an unusable value is a `bad_setting` with the name of the variable, and never the value of a
 * secret.
 */
import { type LocalizedText, RetomaError } from '../errors/errors.ts'
import { hostsAndPorts, oneOf, program, Refusal, text, webUrl, wholeNumber } from './setting-checks.ts'
import type { Setting } from './settings-table.ts'

export type { Setting } from './settings-table.ts'

/** The values of a table of settings. */
export type SystemSettings<Table extends Readonly<Record<string, Setting>>> = {
  readonly [Name in keyof Table]:
    | ReturnType<Table[Name]['read']>
    | (Table[Name] extends { default: string } ? never : undefined)
}

/** Default: the environment of the process, with the values of `.env`, which the command line has read by then. */
export const readSystemSettings = <const Table extends Readonly<Record<string, Setting>>>(
  table: Table,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): SystemSettings<Table> =>
  Object.fromEntries(
    Object.entries(table).map(([name, setting]) => [name, readSetting(name, setting, environment[name])]),
  ) as SystemSettings<Table>

/** Each returns the value or throws; the message names the variable. */
export const settingChecks = { text, webUrl, wholeNumber, oneOf, hostsAndPorts, program }

/**
 * An empty variable counts as absent, because a shell or a compose file unsets variables in this way. Not so if absence would select a
 * different database than the user meant.
 */
export function readSetting(name: string, setting: Setting, given: string | undefined): unknown {
  if (setting.neverEmpty && given !== undefined && given.trim() === '')
    throw badSetting(name, {
      en: 'it is set to nothing; set it to the address of a database, to "embedded" for the embedded PostgreSQL, or unset it',
      pt: 'está definida sem valor; defina o endereço de um banco, "embedded" para o PostgreSQL embutido, ou remova-a',
    })
  const value = given?.trim() || setting.default
  if (value === undefined) return undefined
  try {
    return setting.read(value)
  } catch (error) {
    throw error instanceof Refusal ? badSetting(name, error.saying) : error
  }
}

export const badSetting = (name: string, problem: LocalizedText): RetomaError =>
  new RetomaError('bad_setting', { name, problem })
