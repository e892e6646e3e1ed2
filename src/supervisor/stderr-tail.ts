/** Keeps the last `most` bytes of a stream. */
export interface Tail {
  add(chunk: Buffer): void
  /** Null if nothing was written. */
  text(): string | null
}

export function createTail(most: number): Tail {
  let kept = Buffer.alloc(0)
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk.subarray(-most)]).subarray(-most)
    },
    text: () => (kept.length === 0 ? null : kept.toString('utf8')),
  }
}
