/** So many at once; the others have their turn in the order they came. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Turns that nobody has. */
  get free(): number {
    return this.#free
  }

  /** How many wait for a turn. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves with what ends the turn, to be called once; with undefined when the signal aborted first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined> {
    return new Promise(resolve => {
      if (signal.aborted) return resolve(undefined)
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        resolve(undefined)
      }
      const begin = () => {
        signal.removeEventListener('abort', leave)
        this.#free--
        resolve(() => this.#end())
      }
      if (this.#free > 0) return begin()
      this.#waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #end(): void {
    this.#free++
    this.#waiting.shift()?.()
  }
}
