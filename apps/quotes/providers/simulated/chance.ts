/**
 * Makes numbers that look like chance and are the same for the same text, so that a simulated answer never changes between two attempts.
 */
import { createHash } from 'node:crypto'

export interface Chance {
  /** From 0 to below 1. */
  next(): number
  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number
  pick<T>(from: readonly T[]): T
}

export function chanceOf(...seed: readonly string[]): Chance {
  // xorshift on 32 bits, from the hash of the seed.
  let state = createHash('sha256').update(seed.join('\0')).digest().readUInt32LE() || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 2 ** 32
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return { next, whole, pick: from => from[whole(0, from.length - 1)]! }
}

/** Waits as long as a real service takes; a test passes a function that does not wait. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>
