/** Sends the log lines of a handler to the parent's log. */

import type { Log } from '../../lib/logging/log.ts'
import { asText } from '../../lib/values/json.ts'
import type { Channel } from './channel.ts'

export function logTo(channel: Channel, run: number): Log {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (facts: Record<string, unknown>, message: string) => {
    const send = (about: Record<string, unknown>) =>
      channel.send({ type: 'log', run, level, facts: about, message: asText(message) })
    try {
      send(facts)
    } catch {
      // A value in `facts` cannot be sent.
      send(Object.fromEntries(Object.entries(facts ?? {}).map(([name, value]) => [name, asText(value)])))
    }
  }
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    // The parent adds the job to the lines.
    child: () => log,
  }
  return log
}
