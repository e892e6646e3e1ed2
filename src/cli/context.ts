/** What every command has at hand once its settings are read: how to speak, where it is, what is set, where to log. */
import type { RetomaError } from '../errors.ts'
import { createLog, type Log } from '../lib/log.ts'
import { examineSettings, readEnvironment, readSettings, type Settings } from '../settings/index.ts'
import { ours, ownVariables, terminalVariable } from '../supervisor/papers.ts'
import type { Voice } from './voice.ts'

export interface Context {
  readonly voice: Voice
  readonly folder: string
  readonly settings: Settings
  /** Settings that are not usable: only a command that examines them goes on with any. */
  readonly problems: readonly RetomaError[]
  readonly log: Log
  /** From --config. */
  readonly configFile: string | undefined
}

export interface GlobalOptions {
  json?: true
  config?: string
}

export interface ActionOptions {
  /** Commands that answer and end say only what is amiss, unless more is asked for. */
  quiet: boolean
  /** Go on with settings that are not usable, and say which those are. */
  examine?: true
}

export function createContext(voice: Voice, options: GlobalOptions, { quiet, examine }: ActionOptions): Context {
  const folder = process.cwd()
  const environment = readEnvironment(folder, process.env)
  for (const name of ownVariables) delete environment[name]
  // The user's own jobs read process.env and expect to find there what .env says.
  Object.assign(process.env, environment)
  const { settings, problems } = examine
    ? examineSettings(environment)
    : { settings: readSettings(environment), problems: [] }
  const level = quiet && settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL
  const terminal = process.stderr.isTTY || ours(terminalVariable) !== undefined
  const format = settings.LOG_FORMAT ?? (terminal ? 'pretty' : 'json')
  const log = createLog({ level, format, colour: terminal })
  return { voice, folder, settings, problems, log, configFile: options.config }
}
