/**
 * Logs from the heartbeat thread. While the main loop is blocked only this thread can log: directly to stderr, in the format of the log.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../lib/clock.ts'
import { prettyLine } from '../lib/logging/log-line.ts'
import type { HeartbeatThreadData, ThreadLogLine } from './thread-messages.ts'

/** `hand` passes the line to the main thread, which logs the line when its loop turns again. */
export function createThreadLog(style: HeartbeatThreadData['style'], hand: (line: ThreadLogLine) => void) {
  return {
    say(line: ThreadLogLine): void {
      if (style === undefined) hand(line)
      else if (style.level !== 'silent') write(line, style)
    },
    /** Writes the last line of this process directly: no other thread can log any more. */
    sayLast(line: ThreadLogLine): void {
      write(line, style ?? { format: 'json', colour: false })
    },
  }
}

export type ThreadLog = ReturnType<typeof createThreadLog>

function write({ level, facts, message }: ThreadLogLine, style: { format: 'json' | 'pretty'; colour: boolean }): void {
  const json = JSON.stringify({ level, time: systemClock.now().toISOString(), ...facts, msg: message })
  try {
    writeSync(2, style.format === 'json' ? `${json}\n` : prettyLine(json, style.colour))
  } catch {
    // stderr is closed, or cannot be written now.
  }
}
