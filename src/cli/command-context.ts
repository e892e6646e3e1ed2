/** Holds the common values of every command after reading the settings: the output, the folder, the settings, the log. */
import type { ConnectionConfig } from '../engine/engine-options.ts'
import type { RetomaError } from '../errors/errors.ts'
import { createLog, type Log } from '../lib/logging/log.ts'
import { examineSettings, isEmbedded, readEnvironment, readSettings, type Settings } from '../settings/index.ts'
import { Supervision } from '../supervisor/supervision.ts'
import { ownVariables } from '../supervisor/suspected-job-file.ts'
import type { Output } from './output.ts'

export interface Context {
  readonly output: Output
  readonly folder: string
  readonly settings: Settings
  /** Unusable settings: only a command that examines settings continues with problems. */
  readonly problems: readonly RetomaError[]
  readonly log: Log
  /** From --config. */
  readonly configFile: string | undefined
  /**
   * Answers the connection of retoma.config. With DATABASE_URL the config is not loaded, so that most commands start without the config.
   */
  connection(): Promise<ConnectionConfig | undefined>
}

export interface GlobalOptions {
  json?: true
  config?: string
}

export interface ActionOptions {
  /** Commands that print a result and end log only warnings, unless LOG_LEVEL asks for more. */
  quiet: boolean
  /** Continue with unusable settings, and report the problems. */
  examine?: true
}

export function createContext(output: Output, options: GlobalOptions, { quiet, examine }: ActionOptions): Context {
  const folder = process.cwd()
  const environment = readEnvironment(folder, process.env)
  for (const name of ownVariables) delete environment[name]
  // The user's own jobs read process.env and expect the values of .env there.
  Object.assign(process.env, environment)
  const { settings, problems } = examine
    ? examineSettings(environment)
    : { settings: readSettings(environment), problems: [] }
  const level = quiet && settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL
  const terminal = process.stderr.isTTY || new Supervision().hasTerminal
  const format = settings.LOG_FORMAT ?? (terminal ? 'pretty' : 'json')
  const log = createLog({ level, format, colour: terminal })
  let connecting: Promise<ConnectionConfig | undefined> | undefined
  const configured = async () => {
    if (settings.DATABASE_URL !== undefined || isEmbedded(environment)) return undefined
    const { loadConfig } = await import('./load-config.ts')
    const loading = loadConfig({ folder, configFile: options.config })
    // A command that examines the settings reports an unusable config itself, and goes on.
    const config = await (examine ? loading.catch(() => undefined) : loading)
    return config?.connection()
  }
  const connection = () => {
    connecting ??= configured()
    return connecting
  }
  return { output, folder, settings, problems, log, configFile: options.config, connection }
}
