/** A handler's log lines, on their way to the parent's log. */
import { asText } from '../core/json.ts'
import type { Log } from '../lib/log.ts'
import type { Line } from './line.ts'

export function logTo(line: Line, run: number): Log {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (facts: Record<string, unknown>, message: string) => {
    const send = (about: Record<string, unknown>) =>
      line.send({ type: 'log', run, level, facts: about, message: asText(message) })
    try {
      send(facts)
    } catch {
      // Something in it cannot be sent.
      send(Object.fromEntries(Object.entries(facts ?? {}).map(([name, value]) => [name, asText(value)])))
    }
  }
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    // The parent knows whose they are.
    child: () => log,
  }
  return log
}
