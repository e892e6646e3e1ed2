/**
 * Bounds how often one and the same line is logged: while the database is away, every request and every loop fails with the same words.
 *
 * Invariant: of one message at most `most` lines are written in `windowMs`, and a line at the end of that time says how many were left
 * out. Messages that differ do not hold each other back.
 */

const windowMs = 10_000
const most = 20
/** Messages that are remembered; with more, the oldest is forgotten. */
const mostMessages = 1000

interface Window {
  until: number
  written: number
  leftOut: number
}

export class LogFlood {
  readonly #windows = new Map<string, Window>()
  readonly #elapsed: () => number
  readonly #later: (run: () => void, ms: number) => void

  /** `later` runs something after so many ms, and does not keep the process alive for it. */
  constructor(elapsed: () => number, later: (run: () => void, ms: number) => void) {
    this.#elapsed = elapsed
    this.#later = later
  }

  /** Whether a line of this message is written. `told`: writes how many were left out, once their window is over. */
  admits(message: string, told: (leftOut: number) => void): boolean {
    const now = this.#elapsed()
    let window = this.#windows.get(message)
    if (window === undefined || now >= window.until) {
      window = { until: now + windowMs, written: 0, leftOut: 0 }
      this.#windows.delete(message)
      this.#windows.set(message, window)
      if (this.#windows.size > mostMessages) this.#windows.delete(this.#windows.keys().next().value!)
    }
    if (window.written < most) {
      window.written++
      return true
    }
    const full = window
    if (full.leftOut++ === 0) this.#later(() => told(full.leftOut), full.until - now)
    return false
  }
}
