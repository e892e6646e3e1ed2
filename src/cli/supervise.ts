/**
 * Decides whether this process is a supervisor, and runs the supervisor. Runs before the rest of the command line is loaded: the kernel
 * does not choose a small parent process when memory runs out.
 *
 * `worker` and `up` are supervised by default. Not under a debugger: a debugger needs the worker process.
 */
import { constants } from 'node:os'
import type { Language } from '../errors/errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { Log, LogFormat, LogLevel } from '../lib/logging/log.ts'
import { isEmbedded, readEnvironment } from '../settings/environment.ts'
import { parseProcesses } from '../settings/process-count.ts'
import { Supervision } from '../supervisor/supervision.ts'
import { ownVariables, terminalVariable } from '../supervisor/suspected-job-file.ts'
import { messagesIn } from './messages/index.ts'

const supervised = ['worker', 'up']
const stopMs = 30_000

/** A worker makes much short-lived garbage: four times as frequent collections save 30 MB. The user's NODE_OPTIONS take precedence. */
const lean = ({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv): string[] =>
  NODE_OPTIONS.includes('semi-space') ? [] : ['--max-semi-space-size=4']

/** Undefined: this process runs the command itself. Otherwise the child has ended, and the result is the exit code. */
export async function superviseIfAsked(
  entry: string,
  argv: readonly string[],
  language: Language,
): Promise<number | undefined> {
  if (new Supervision().reportFolder !== undefined) return undefined
  // The variables come from a supervisor whose worker started this process, and belong to that worker.
  for (const name of ownVariables) delete process.env[name]
  const environment = surroundings()
  if (!supervised.includes(commandOf(argv) ?? '') || (await isTurnedOff(argv, environment))) return undefined
  const { makeCrashReportFolder } = await import('../supervisor/crash-report-folder.ts')
  const folder = makeCrashReportFolder()
  if (folder === undefined) {
    process.stderr.write(`${messagesIn[language].up.unsupervised}\n`)
    return undefined
  }
  // A closed reader of stdout or stderr ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const { supervise } = await import('../supervisor/supervisor.ts')
  const env = { ...process.env, ...(process.stderr.isTTY ? { [terminalVariable]: '1' } : {}) }
  const program = { entry, args: argv, execArgv: [...lean(environment), ...process.execArgv], env }
  const processes = processesOf(argv, environment)
  const ending = await supervise({ program, processes, folder, clock: systemClock, log: () => createLog(environment) })
  if (ending.signal === null) return ending.exitCode ?? 1
  if (commandOf(argv) === 'up' && (!environment.DATABASE_URL || isEmbedded(environment))) await stopServer(entry)
  return endBy(ending.signal as NodeJS.Signals)
}

/**
 * A child killed during its shutdown has left the embedded PostgreSQL running: the server stops with the last command that uses the
 * server.
 */
async function stopServer(entry: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const last = spawn(process.execPath, [entry, 'status', '--json'], { stdio: 'ignore', timeout: stopMs })
  await new Promise(resolve => {
    last.on('exit', resolve)
    last.on('error', resolve)
  })
}

/** The first word that is neither an option nor the value of an option. */
function commandOf(argv: readonly string[]): string | undefined {
  return argv.find((word, index) => !word.startsWith('-') && argv[index - 1] !== '--config')
}

/** The number of worker processes. The first worker process reports a bad number. */
function processesOf(argv: readonly string[], { RETOMA_PROCESSES = '' }: NodeJS.ProcessEnv): number {
  const at = argv.lastIndexOf('--processes')
  const joined = argv.find(word => word.startsWith('--processes='))
  const given = at >= 0 ? argv[at + 1] : joined?.slice('--processes='.length)
  return parseProcesses(given ?? (RETOMA_PROCESSES.trim() || '1')) ?? 1
}

async function isTurnedOff(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<boolean> {
  if (argv.includes('--no-supervise') || environment.RETOMA_SUPERVISE?.trim() === 'off') return true
  const { url } = await import('node:inspector')
  return url() !== undefined
}

/** The child reports an unreadable environment. */
function surroundings(): NodeJS.ProcessEnv {
  try {
    return readEnvironment(process.cwd(), process.env)
  } catch {
    return process.env
  }
}

async function createLog({ LOG_LEVEL, LOG_FORMAT }: NodeJS.ProcessEnv): Promise<Log> {
  const log = await import('../lib/logging/log.ts')
  // A child that became ready has validated both settings.
  const level = (LOG_LEVEL?.trim() || 'info') as LogLevel
  const format = (LOG_FORMAT?.trim() || (process.stderr.isTTY ? 'pretty' : 'json')) as LogFormat
  return log.createLog({ level, format })
}

/** Ends by the signal of the child, so that the caller sees the same end as without a supervisor. */
function endBy(signal: NodeJS.Signals): Promise<never> | number {
  if (!['SIGTERM', 'SIGINT', 'SIGHUP'].includes(signal)) return 128 + constants.signals[signal]
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  return new Promise(() => {})
}
