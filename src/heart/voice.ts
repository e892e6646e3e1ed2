/** How a heart says something. While the main loop stands still only it can: straight to stderr, in the log's own form. */
import { writeSync } from 'node:fs'
import { systemClock } from '../lib/clock.ts'
import { prettyLine } from '../lib/log-line.ts'
import type { HeartTask, Line } from './messages.ts'

/** `hand`: to the main thread, which logs it when its loop turns again. */
export function createVoice(style: HeartTask['style'], hand: (line: Line) => void) {
  return {
    say(line: Line): void {
      if (style === undefined) hand(line)
      else if (style.level !== 'silent') write(line, style)
    },
    /** The last words of this process: nobody is left to hand them to. */
    sayLast(line: Line): void {
      write(line, style ?? { format: 'json', colour: false })
    },
  }
}

export type Voice = ReturnType<typeof createVoice>

function write({ level, facts, message }: Line, style: { format: 'json' | 'pretty'; colour: boolean }): void {
  const json = JSON.stringify({ level, time: systemClock.now().toISOString(), ...facts, msg: message })
  try {
    writeSync(2, style.format === 'json' ? `${json}\n` : prettyLine(json, style.colour))
  } catch {
    // Nobody reads it, or cannot now.
  }
}
