/**
 * Whether this process is only the parent of the one that works, and that parent's life. Asked before the rest of the command
 * line is loaded: a parent that stays small is not what the kernel kills when memory runs out.
 *
 * Supervised are `worker` and `up`, unless told otherwise. Not under a debugger: it wants the process that works.
 */
import { constants } from 'node:os'
import type { Language } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { Log, LogFormat, LogLevel } from '../lib/log.ts'
import { isEmbedded, readEnvironment } from '../settings/environment.ts'
import { ownVariables, papersFolder, terminalVariable } from '../supervisor/papers.ts'
import { words } from './words/index.ts'

const supervised = ['worker', 'up']
const stopMs = 30_000

/** A worker makes much garbage that is young: collected four times as often, it takes 30 MB less. What the user says counts. */
const lean = ({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv): string[] =>
  NODE_OPTIONS.includes('semi-space') ? [] : ['--max-semi-space-size=4']

/** Undefined: this process does the work itself. Otherwise that of its child is done, and this is what to exit with. */
export async function superviseIfAsked(
  entry: string,
  argv: readonly string[],
  language: Language,
): Promise<number | undefined> {
  if (papersFolder() !== undefined) return undefined
  // They come from a supervisor whose worker has started us, and are meant for that one.
  for (const name of ownVariables) delete process.env[name]
  const environment = surroundings()
  if (!supervised.includes(commandOf(argv) ?? '') || (await isTurnedOff(argv, environment))) return undefined
  const { makeFolder } = await import('../supervisor/folder.ts')
  const folder = makeFolder()
  if (folder === undefined) {
    process.stderr.write(`${words[language].up.unsupervised}\n`)
    return undefined
  }
  // A reader that goes away ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const { supervise } = await import('../supervisor/supervisor.ts')
  const env = { ...process.env, ...(process.stderr.isTTY ? { [terminalVariable]: '1' } : {}) }
  const program = { entry, args: argv, execArgv: [...lean(environment), ...process.execArgv], env }
  const ending = await supervise({ program, folder, clock: systemClock, log: () => createLog(environment) })
  if (ending.signal === null) return ending.exitCode ?? 1
  if (commandOf(argv) === 'up' && (!environment.DATABASE_URL || isEmbedded(environment))) await stopServer(entry)
  return endBy(ending.signal as NodeJS.Signals)
}

/** What was killed in the middle of its goodbye has left its own PostgreSQL running: any command that comes by last stops it. */
async function stopServer(entry: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const last = spawn(process.execPath, [entry, 'status', '--json'], { stdio: 'ignore', timeout: stopMs })
  await new Promise(resolve => {
    last.on('exit', resolve)
    last.on('error', resolve)
  })
}

/** The first word that is neither an option nor the value of one. */
function commandOf(argv: readonly string[]): string | undefined {
  return argv.find((word, index) => !word.startsWith('-') && argv[index - 1] !== '--config')
}

async function isTurnedOff(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<boolean> {
  if (argv.includes('--no-supervise') || environment.RETOMA_SUPERVISE?.trim() === 'off') return true
  const { url } = await import('node:inspector')
  return url() !== undefined
}

/** What cannot be read is told by the one that works. */
function surroundings(): NodeJS.ProcessEnv {
  try {
    return readEnvironment(process.cwd(), process.env)
  } catch {
    return process.env
  }
}

async function createLog({ LOG_LEVEL, LOG_FORMAT }: NodeJS.ProcessEnv): Promise<Log> {
  const log = await import('../lib/log.ts')
  // Whatever had been ready found both of them usable.
  const level = (LOG_LEVEL?.trim() || 'info') as LogLevel
  const format = (LOG_FORMAT?.trim() || (process.stderr.isTTY ? 'pretty' : 'json')) as LogFormat
  return log.createLog({ level, format })
}

/** As the child did, so that whoever waits for us sees what he would without us between. */
function endBy(signal: NodeJS.Signals): Promise<never> | number {
  if (!['SIGTERM', 'SIGINT', 'SIGHUP'].includes(signal)) return 128 + constants.signals[signal]
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  return new Promise(() => {})
}
