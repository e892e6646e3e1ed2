/**
 * Counts the nesting depth and the values of JSON, byte by byte as the body arrives and before parsing. The bytes alone do not bound the
 * cost: 16 MB of `[],` are five million lists and take JSON.parse seconds and 800 MB.
 */

export type Excess = 'too_deep' | 'too_many' | 'too_wide'

/**
 * The fields of one object. JavaScript collects all names of a wide object before a loop over them begins: 130 ms for 190,000 names, even
 * for a loop that ends at the first name.
 */
export const mostFields = 50_000

export class JsonScan {
  readonly #deepest: number
  readonly #mostValues: number
  #depth = 0
  #values = 0
  /** By depth: the commas of the open object; -1 for an open list. */
  readonly #fields: Int32Array
  #isQuoted = false
  #isEscaped = false

  constructor(deepest: number, mostValues: number) {
    this.#deepest = deepest
    this.#mostValues = mostValues
    this.#fields = new Int32Array(deepest + 1).fill(-1)
  }

  /** The parser checks whether the brackets match. */
  add(bytes: Uint8Array): Excess | undefined {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isQuoted) {
        at = this.#endOfText(bytes, at)
        continue
      }
      const byte = bytes[at]
      if (byte === quote) this.#isQuoted = true
      else if (byte === comma) {
        this.#values++
        if (this.#fields[this.#depth]! >= 0 && ++this.#fields[this.#depth]! >= mostFields) return 'too_wide'
      } else if (byte === openBrace || byte === openBracket) {
        this.#values++
        if (++this.#depth > this.#deepest) return 'too_deep'
        this.#fields[this.#depth] = byte === openBrace ? 0 : -1
      } else if (byte === closeBrace || byte === closeBracket) this.#depth--
    }
    return this.#values > this.#mostValues ? 'too_many' : undefined
  }

  /** Returns the index of the closing quote, or the length: a string may continue in the next part. */
  #endOfText(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; ) {
      const end = bytes.indexOf(quote, at)
      const last = end < 0 ? bytes.length : end
      let slashes = 0
      while (last - slashes > at && bytes[last - 1 - slashes] === backslash) slashes++
      // If there are only backslashes since the start of the search, an escape at the end of the previous part counts too.
      const isEscaped = (slashes % 2 === 1) !== (this.#isEscaped && last - slashes === at)
      this.#isEscaped = end < 0 && isEscaped
      if (end < 0) break
      if (!isEscaped) {
        this.#isQuoted = false
        return end
      }
      at = end + 1
    }
    return bytes.length
  }
}

const [quote, comma, openBracket, backslash, closeBracket, openBrace, closeBrace] = Buffer.from(
  '",[\\]{}',
) as unknown as [...[number, number, number, number, number, number, number]]
