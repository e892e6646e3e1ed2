/**
 * Writes the log of a process: JSON lines for machines, short coloured lines on a terminal. Parts take a `Log` and never write to a
 * stream themselves.
 *
 * Invariant: text that looks like a secret is removed before a line is written. Repeated warnings and errors are bounded (log-rate-limit.ts).
 */
import pino from 'pino'
import { systemClock } from '../clock.ts'
import { isSecretName, withoutSecrets } from '../values/redact.ts'
import { prettyLine } from './log-line.ts'
import { LogRateLimit } from './log-rate-limit.ts'

/** Our own type, so a user with another logger need not know pino. A pino logger fits as is. */
export interface Log {
  /** For developers. */
  debug(facts: Record<string, unknown>, message: string): void
  /** What happened. */
  info(facts: Record<string, unknown>, message: string): void
  /** Not as it should be, but the work continues. */
  warn(facts: Record<string, unknown>, message: string): void
  /** A failure. */
  error(facts: Record<string, unknown>, message: string): void
  /** The same log, with these facts on every line. */
  child(facts: Record<string, unknown>): Log
}

/** A logger as callers give it, such as `console`; without `child`, `logOf` adds the facts to every line. */
export type GivenLog = Omit<Log, 'child'> & Partial<Pick<Log, 'child'>>

/** The log of a given logger, with `child`. */
export function logOf(given: GivenLog): Log {
  return typeof given.child === 'function' ? (given as Log) : withFacts(given, {})
}

function withFacts(log: Omit<Log, 'child'>, always: Record<string, unknown>): Log {
  return {
    debug: (facts, message) => log.debug({ ...always, ...facts }, message),
    info: (facts, message) => log.info({ ...always, ...facts }, message),
    warn: (facts, message) => log.warn({ ...always, ...facts }, message),
    error: (facts, message) => log.error({ ...always, ...facts }, message),
    child: facts => withFacts(log, { ...always, ...facts }),
  }
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFormat = 'pretty' | 'json'

const deepest = 6
/** pino's number for `warn`. */
const warnings = 40

interface LogOptions {
  level: LogLevel
  format: LogFormat
  /** Default: true if stderr is a terminal. */
  colour?: boolean
  write?: (text: string) => void
}

export function createLog(options: LogOptions): Log {
  const { write = text => process.stderr.write(text), colour = process.stderr.isTTY === true } = options
  const destination =
    options.format === 'json' ? { write } : { write: (line: string) => write(prettyLine(line, colour)) }
  const flood = new LogRateLimit(
    () => systemClock.elapsed(),
    (run, ms) => void setTimeout(run, ms).unref(),
  )
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // `tidy` has made the facts of an error.
      serializers: { err: facts => facts },
      formatters: { level: label => ({ level: label }) },
      // The caller chooses the facts, so facts may hold any value: facts must not replace the line's own parts or break the line.
      hooks: {
        logMethod([facts, message], method, level) {
          const text = withoutSecrets(String(message))
          const write = (given: unknown) => method.call(this, tidy(given), text)
          if (level < warnings || flood.admits(`${level} ${text}`, leftOut => write({ left_out: leftOut })))
            write(facts)
        },
      },
    },
    destination,
  )
  if (options.write === undefined) direct.set(log, { level: options.level, format: options.format, colour })
  return log
}

/** Logs that write to stderr, with the style: a thread may have to write to stderr while the main loop is blocked. */
const direct = new WeakMap<Log, LogStyle>()

export interface LogStyle {
  level: LogLevel
  format: LogFormat
  colour: boolean
}

/** undefined: `createLog` did not make this log for stderr, so only the log knows the destination. */
export const styleOf = (log: Log): LogStyle | undefined => direct.get(log)

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

/** The facts of a line as a log writes the facts, without stacks: for a line that is stored with a job, whose failures have the stacks. */
export function factsWithoutStacks(facts: unknown): Record<string, unknown> {
  const { err, ...tidied } = tidy(facts)
  if (err === undefined) return tidied
  const { stack: _, ...error } = Object(err) as Record<string, unknown>
  return { ...tidied, err: typeof err === 'object' ? error : err }
}

/** Removes secrets, values below the maximum depth, and values that JSON or a getter would fail on. */
function clean(name: string, value: unknown, depth: number): unknown {
  if (isSecretName(name) && value != null) return '[removed]'
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return withoutSecrets(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return withoutSecrets(value.message)
  if (depth >= deepest) return '[deeper]'
  if (Array.isArray(value)) return value.slice(0, 100).map(each => clean('', each, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clean(key, each, depth + 1)]))
}

export const silentLog: Log = pino({ level: 'silent' })

function errorFacts(error: unknown): unknown {
  if (!(error instanceof Error)) return clean('', error, 0)
  const { code } = error as { code?: unknown }
  return {
    message: withoutSecrets(error.message),
    ...(code === undefined ? {} : { code }),
    ...(isOutage(code) ? {} : { stack: withoutSecrets(error.stack ?? '') }),
  }
}

/** During an outage of the database every loop fails, and the stack says nothing about the cause: each failure is one short line. */
const isOutage = (code: unknown): boolean => code === 'database_unreachable' || code === 'database_timeout'
