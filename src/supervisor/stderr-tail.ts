/** Keeps the last `most` bytes of a stream. */
export interface StderrTail {
  add(chunk: Buffer): void
  /** Null if nothing was written. */
  text(): string | null
}

export function createStderrTail(most: number): StderrTail {
  let kept = Buffer.alloc(0)
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk.subarray(-most)]).subarray(-most)
    },
    text: () => (kept.length === 0 ? null : kept.toString('utf8')),
  }
}
