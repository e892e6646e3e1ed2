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

const secret =
  /^(.*[-_])?(password|passwd|pwd|secret|token|authorization|cookie|api[-_]?key|database[-_]?url|connection[-_]?string)$/i
const deepest = 6

interface LogOptions {
  level: LogLevel
  format: LogFormat
  /** Default: when stderr is a terminal. */
  colour?: boolean
  write?: (text: string) => void
}

export function createLog(options: LogOptions): Log {
  const { write = text => process.stderr.write(text), colour = process.stderr.isTTY === true } = options
  const destination = options.format === 'json' ? { write } : { write: (line: string) => write(pretty(line, colour)) }
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      // Facts are the caller's, and may be anything: they must not take the place of a line's own parts, or break it.
      hooks: {
        logMethod([facts, message], method) {
          method.call(this, tidy(facts), message)
        },
      },
    },
    destination,
  )
}

const own = new Set(['level', 'time', 'msg'])

function tidy(facts: unknown): Record<string, unknown> {
  if (facts === null || typeof facts !== 'object') return { fact: facts }
  const tidied: Record<string, unknown> = {}
  try {
    for (const [name, value] of Object.entries(facts)) {
      tidied[own.has(name) ? `${name}_` : name] = name === 'err' ? errorFacts(value) : clean(name, value, 0)
    }
  } catch {
    tidied.unreadable = true
  }
  return tidied
}

/** A value without secrets, not too deep, and free of what JSON or a getter would choke on. */
function clean(name: string, value: unknown, depth: number): unknown {
  if (secret.test(name) && value != null) return '[removed]'
  if (typeof value === 'bigint') return String(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return value.message
  if (depth >= deepest) return '[deeper]'
  if (Array.isArray(value)) return value.slice(0, 100).map(each => clean('', each, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clean(key, each, depth + 1)]))
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
