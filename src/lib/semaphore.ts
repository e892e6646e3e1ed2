/** Limits concurrent work to `most` turns. Further callers get a turn in the order of arrival. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** The number of free turns. */
  get free(): number {
    return this.#free
  }

  /** The number of callers waiting for a turn. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves with the function to end the turn, to be called once; with undefined if the signal aborts first. */
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
