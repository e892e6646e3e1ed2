/** What every command has at hand once its settings are read: how to speak, where it is, what is set, where to log. */
import { createLog, type Log } from '../lib/log.ts'
import { readEnvironment, readSettings, type Settings } from '../settings/index.ts'
import type { Voice } from './voice.ts'

export interface Context {
  readonly voice: Voice
  readonly folder: string
  readonly settings: Settings
  readonly log: Log
  /** From --config. */
  readonly configFile: string | undefined
}

export interface GlobalOptions {
  json?: true
  config?: string
}

/** `quiet`: commands that answer and end say only what is amiss, unless more is asked for. */
export function createContext(voice: Voice, options: GlobalOptions, { quiet }: { quiet: boolean }): Context {
  const folder = process.cwd()
  const environment = readEnvironment(folder, process.env)
  // The user's own jobs read process.env and expect to find there what .env says.
  Object.assign(process.env, environment)
  const settings = readSettings(environment)
  const level = quiet && settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL
  const format = settings.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json')
  return { voice, folder, settings, log: createLog({ level, format }), configFile: options.config }
}
