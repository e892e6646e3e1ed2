/**
 * Bounds repeated log lines: while the database is unreachable, every request and every loop fails with the same message.
 *
 * Invariant: at most `most` lines of a message are written in `windowMs`, and a line at the end of the window says how many lines were
 * left out. Different messages do not hold each other back.
 */

const windowMs = 10_000
const most = 20
/** Remembered messages; beyond this number the oldest message is forgotten. */
const mostMessages = 1000

interface Window {
  until: number
  written: number
  leftOut: number
}

export class LogRateLimit {
  readonly #windows = new Map<string, Window>()
  readonly #elapsed: () => number
  readonly #later: (run: () => void, ms: number) => void

  /** `later` runs a function after a number of ms, and does not keep the process alive for the run. */
  constructor(elapsed: () => number, later: (run: () => void, ms: number) => void) {
    this.#elapsed = elapsed
    this.#later = later
  }

  /** True: the caller may write a line of this message. `report` writes the number of left-out lines at the end of the window. */
  admits(message: string, report: (leftOut: number) => void): boolean {
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
    if (full.leftOut++ === 0) this.#later(() => report(full.leftOut), full.until - now)
    return false
  }
}
