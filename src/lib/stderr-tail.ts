/** Keeps the last part of the stderr of a process or a thread, as evidence of a crash. */
export interface StderrTail {
  add(chunk: Uint8Array): void
  /** '' if nothing was written. */
  readonly text: string
}

export function createStderrTail(mostBytes = 8192): StderrTail {
  let kept = Buffer.alloc(0)
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk.subarray(-mostBytes)]).subarray(-mostBytes)
    },
    get text() {
      return kept.toString('utf8')
    },
  }
}
