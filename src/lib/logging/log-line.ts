/**
 * Formats a log line without the logger, for a thread with little memory.
 *
 * Invariant: the content of a line cannot break the line, colour the line or begin another line.
 */
import { visibleLine, visibleText } from '../values/visible-text.ts'

const colours: Record<string, number> = { debug: 90, info: 36, warn: 33, error: 31, fatal: 31 }

/** Turns a JSON line into `12:03:44 info  worker ready queues=default`. */
export function prettyLine(line: string, colour: boolean): string {
  const { level, time, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
    level: string
    time: string
  }
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
  const tail = Object.entries(facts).map(([name, value]) =>
    paint(90, ` ${visibleLine(name)}=${visibleLine(brief(value))}`),
  )
  const problem = err && typeof err === 'object' ? (err as { stack?: unknown; message?: unknown }) : {}
  if (problem.stack === undefined && problem.message !== undefined)
    tail.push(paint(90, ` problem=${visibleLine(String(problem.message))}`))
  const stack = problem.stack === undefined ? '' : `\n${visibleText(String(problem.stack)).replace(/^/gm, '    ')}`
  return `${paint(90, time.slice(11, 19))} ${paint(colours[level] ?? 0, level.padEnd(5))} ${visibleLine(String(msg ?? ''))}${tail.join('')}${stack}\n`
}

function brief(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
