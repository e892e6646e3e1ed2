/**
 * Counts what JSON holds, byte by byte as it arrives and before anything is parsed: how deep it is nested and how many values it
 * has. The bytes alone do not bound the cost: 16 MB of `[],` are five million lists and take JSON.parse seconds and 800 MB.
 */

export type Excess = 'too_deep' | 'too_many'

export class JsonScan {
  readonly #deepest: number
  readonly #mostValues: number
  #depth = 0
  #values = 0
  #isQuoted = false
  #isEscaped = false

  constructor(deepest: number, mostValues: number) {
    this.#deepest = deepest
    this.#mostValues = mostValues
  }

  /** Whether the brackets match is for the parser to find. */
  add(bytes: Uint8Array): Excess | undefined {
    for (const byte of bytes) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isQuoted) {
        if (byte === backslash) this.#isEscaped = true
        else if (byte === quote) this.#isQuoted = false
      } else if (byte === quote) this.#isQuoted = true
      else if (byte === comma) this.#values++
      else if (byte === openBrace || byte === openBracket) {
        this.#values++
        if (++this.#depth > this.#deepest) return 'too_deep'
      } else if (byte === closeBrace || byte === closeBracket) this.#depth--
    }
    return this.#values > this.#mostValues ? 'too_many' : undefined
  }
}

const [quote, comma, openBracket, backslash, closeBracket, openBrace, closeBrace] = Buffer.from(
  '",[\\]{}',
) as unknown as [...[number, number, number, number, number, number, number]]
