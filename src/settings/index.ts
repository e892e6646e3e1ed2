/**
 * Reads the settings once, at the start of a process: checks each setting, then the combinations. Called by the command line.
 *
 * Invariant: returned settings are usable; an unusable setting is a RetomaError with the name of the variable, and never the value of a
 * secret.
 */
import { suggestion } from '../errors/did-you-mean.ts'
import { isRetomaError, type RetomaError } from '../errors/errors.ts'
import { isLoopback } from '../lib/network-address.ts'
import { embedded, isEmbedded } from './environment.ts'
import { type Settings, type VariableName, variables } from './settings-table.ts'
import { badSetting as bad, readSetting } from './system-settings.ts'

export { suggestion } from '../errors/did-you-mean.ts'
export { isLoopback } from '../lib/network-address.ts'
export { isEmbedded, readEnvironment } from './environment.ts'
export type { Settings } from './settings-table.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const names = Object.keys(variables) as VariableName[]
const isKnown = (name: string) => Object.hasOwn(variables, name)

export function readSettings(environment: Environment): Settings {
  refuseUnknown(environment)
  const settings = Object.fromEntries(names.map(name => [name, readOne(name, environment[name])])) as Settings
  checkTogether(settings)
  return settings
}

/** The settings for an engine inside an application: without the address of a server. */
const ofTheLibrary = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'RETOMA_SCHEMA',
  'RETOMA_CONNECTIONS',
  'RETOMA_DATA_DIR',
  'PUBLIC_URL',
  'RETOMA_NOTIFY_URL',
  'RETOMA_NOTIFY_SECRET',
  'RETOMA_NOTIFY_LANGUAGE',
  'UPSTASH_REDIS_REST_URL',
  'UPSTASH_REDIS_REST_TOKEN',
  'RETOMA_WORKER_MEMORY',
  'RETOMA_JOB_LOGS',
  'RETOMA_LIMITS',
  'RETENTION_DAYS',
  'LOG_LEVEL',
  'LOG_FORMAT',
] as const satisfies readonly VariableName[]

type LibrarySettings = Pick<Settings, (typeof ofTheLibrary)[number]>

/** For `createEngine`. `database`: the value of DATABASE_URL if the value is a word and not an address. */
export function readLibrarySettings(environment: Environment): {
  settings: LibrarySettings
  database: string | undefined
} {
  refuseUnknown(environment)
  const read = (name: VariableName) => [name, readOne(name, environment[name])] as const
  const settings = Object.fromEntries(ofTheLibrary.map(read)) as LibrarySettings
  bothOrNeither(settings, 'UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN')
  if (settings.RETOMA_LIMITS === 'off' && environment.NODE_ENV === 'production') {
    throw bad('RETOMA_LIMITS', {
      en: 'off is for development, and NODE_ENV is production; leave it unset',
      pt: 'off é para desenvolvimento, e NODE_ENV é production; não a defina',
    })
  }
  return { settings, database: isEmbedded(environment) ? embedded : undefined }
}

/** For doctor: returns all problems, and the settings with defaults in place of unusable values. */
export function examineSettings(environment: Environment): { settings: Settings; problems: RetomaError[] } {
  const problems: RetomaError[] = []
  const noting = <T>(work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      if (!isRetomaError(error)) throw error
      problems.push(error)
      return undefined
    }
  }
  noting(() => refuseUnknown(environment))
  const settings = Object.fromEntries(
    names.map(name => [name, noting(() => readOne(name, environment[name])) ?? readOne(name, undefined)]),
  ) as Settings
  noting(() => checkTogether(settings))
  return { settings, problems }
}

function readOne(name: VariableName, given: string | undefined): unknown {
  if (name === 'DATABASE_URL' && given?.trim() === embedded) return undefined
  return readSetting(name, variables[name], given)
}

function checkTogether(settings: Settings): void {
  bothOrNeither(settings, 'UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN')
  if (isLoopback(settings.HOST)) return
  if (settings.RETOMA_LIMITS === 'off') {
    throw bad('RETOMA_LIMITS', {
      en: `off is for development on loopback, and HOST is ${settings.HOST}; leave it unset`,
      pt: `off é para desenvolvimento em loopback, e HOST é ${settings.HOST}; não a defina`,
    })
  }
}

function bothOrNeither(
  settings: { readonly [Name in VariableName]?: unknown },
  ...pair: [VariableName, VariableName]
): void {
  const missing = pair.find(name => settings[name] === undefined)
  const given = pair.find(name => settings[name] !== undefined)
  if (missing === undefined || given === undefined) return
  throw bad(missing, {
    en: `it is missing, and ${given} goes with it; set both or neither`,
    pt: `falta, e ${given} vai junto; defina as duas ou nenhuma`,
  })
}

/** A typo in a Retoma variable would otherwise be a setting without any effect. */
function refuseUnknown(environment: Environment): void {
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('RETOMA_') || isKnown(name) || name.startsWith('RETOMA_TEST_')) continue
    if (isServiceLink(name, value ?? '')) continue
    const bare = name.slice('RETOMA_'.length)
    const hint = suggestion(isKnown(bare) ? bare : name, names)
    throw bad(name, { en: `there is no such setting${hint.en}`, pt: `não existe essa configuração${hint.pt}` })
  }
}

/** Variables that Kubernetes and Docker add for a service called retoma, or retoma-something. */
function isServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}

/** Only the names, for a helper who need not know the values. */
export const settingsSet = (environment: Environment): string[] => names.filter(name => environment[name]?.trim())
