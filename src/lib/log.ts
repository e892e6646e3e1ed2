/**
 * One logger for a process: JSON lines where a machine reads them, short coloured lines on a terminal.
 * Parts take a `Log` and never write to a stream themselves.
 *
 * Invariant: whatever looks like a secret is removed before a line is written.
 */
import pino from 'pino'

type Line = (facts: Record<string, unknown>, message: string) => void

/** Ours, so that whoever brings another logger need not know pino; a pino logger is one as it is. */
export interface Log {
  debug: Line
  info: Line
  warn: Line
  error: Line
  child(facts: Record<string, unknown>): Log
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFormat = 'pretty' | 'json'

const secretNames = ['password', 'secret', 'token', 'authorization', 'cookie', 'databaseUrl', 'connectionString']
const redactedPaths = secretNames.flatMap(name => [name, `*.${name}`])

export function createLog(options: { level: LogLevel; format: LogFormat; write?: (text: string) => void }): Log {
  const write = options.write ?? (text => process.stderr.write(text))
  const destination =
    options.format === 'json'
      ? { write }
      : { write: (line: string) => write(pretty(line, process.stderr.isTTY === true)) }
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: redactedPaths, censor: '[removed]' },
      serializers: { err: errorFacts },
    },
    destination,
  )
}

export const silentLog: Log = pino({ level: 'silent' })

function errorFacts(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code } = error as { code?: unknown }
  return { message: error.message, ...(code === undefined ? {} : { code }), stack: error.stack }
}

const colours: Record<string, number> = { debug: 90, info: 36, warn: 33, error: 31, fatal: 31 }

/** `12:03:44 info  worker ready queues=default` */
function pretty(line: string, colour: boolean): string {
  const { level, time, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
    level: string
    time: string
  }
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
  const tail = Object.entries(facts).map(([name, value]) => paint(90, ` ${name}=${brief(value)}`))
  const stack = err && typeof err === 'object' && 'stack' in err ? `\n${String(err.stack).replace(/^/gm, '    ')}` : ''
  return `${paint(90, time.slice(11, 19))} ${paint(colours[level] ?? 0, level.padEnd(5))} ${msg ?? ''}${tail.join('')}${stack}\n`
}

function brief(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
