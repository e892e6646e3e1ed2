/** Collects the text of a document as it is read: the beginning and the end are kept, the length of the middle is counted. */
import { headLength, type Parts, tailLength } from './excerpt.ts'

/** Memory is bounded however long the text is. The result is the same as `partsOf` of the whole text. */
export class TextCollector {
  #head = ''
  #tail = ''
  #length = 0

  add(text: string): void {
    this.#length += text.length
    const room = headLength + tailLength - this.#head.length
    this.#head += text.slice(0, Math.max(room, 0))
    this.#tail = text.length >= tailLength ? text.slice(-tailLength) : this.#tail + text
    // The cut costs as much as the kept part, so it is made once in a while.
    if (this.#tail.length > 8 * tailLength) this.#tail = this.#tail.slice(-tailLength)
  }

  /** Begins a new line unless the text is at the beginning of a line. */
  line(): void {
    if (this.#length > 0 && !this.#tail.endsWith('\n')) this.add('\n')
  }

  get length(): number {
    return this.#length
  }

  parts(): Parts {
    const omitted = this.#length - headLength - tailLength
    if (omitted <= 0) return { head: this.#head, tail: null, omitted: 0 }
    return { head: this.#head.slice(0, headLength), tail: this.#tail.slice(-tailLength), omitted }
  }
}
