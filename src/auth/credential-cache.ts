/**
 * Caches credential lookups by hash, so that a request needs no round trip to identify the principal. A revocation by this
 * process, or announced to this process, takes effect at once, any other within `goodMs`.
 *
 * Invariant: a lookup is cached for at most this time from the moment it began, and never if it began before `forget`. The memory
 * is bounded, and wrong credentials cannot evict good credentials.
 */
import type { Clock } from '../lib/clock.ts'

const goodMs = 4000
const badMs = 2000
const mostGood = 10_000
const mostBad = 1000

interface Kept<T> {
  answer: T | null
  until: number
}

export class CredentialCache<T> {
  readonly #clock: Clock
  readonly #find: (hash: Buffer) => Promise<T | null>
  readonly #good = new Map<string, Kept<T>>()
  readonly #bad = new Map<string, Kept<T>>()
  /** The last known result, kept long after the cached lookup has expired: repeating a known secret is not a guess. */
  readonly #knownGood = new Map<string, 'good'>()
  readonly #knownBad = new Map<string, 'bad'>()
  #underWay = new Map<string, Promise<T | null>>()

  constructor(clock: Clock, find: (hash: Buffer) => Promise<T | null>) {
    this.#clock = clock
    this.#find = find
  }

  /** The last known result of a lookup; undefined: never looked up, or too long ago. */
  known(hash: Buffer): 'good' | 'bad' | undefined {
    const name = hash.toString('base64')
    return this.#knownGood.get(name) ?? this.#knownBad.get(name)
  }

  get(hash: Buffer): Promise<T | null> {
    const name = hash.toString('base64')
    const kept = this.#good.get(name) ?? this.#bad.get(name)
    if (kept !== undefined && this.#clock.elapsed() < kept.until) return Promise.resolve(kept.answer)
    const before = this.#underWay.get(name)
    if (before !== undefined) return before
    const asked = this.#ask(name, hash, this.#underWay)
    this.#underWay.set(name, asked)
    return asked
  }

  async #ask(name: string, hash: Buffer, round: Map<string, Promise<T | null>>): Promise<T | null> {
    const at = this.#clock.elapsed()
    try {
      const answer = await this.#find(hash)
      if (round === this.#underWay) this.#keep(name, answer, at)
      return answer
    } finally {
      round.delete(name)
    }
  }

  #keep(name: string, answer: T | null, at: number): void {
    this.#good.delete(name)
    this.#bad.delete(name)
    this.#knownGood.delete(name)
    this.#knownBad.delete(name)
    if (answer === null) {
      putBounded(this.#bad, name, { answer, until: at + badMs }, mostBad)
      putBounded(this.#knownBad, name, 'bad', mostGood)
    } else {
      putBounded(this.#good, name, { answer, until: at + goodMs }, mostGood)
      putBounded(this.#knownGood, name, 'good', mostGood)
    }
  }

  forget(): void {
    this.#good.clear()
    this.#bad.clear()
    this.#underWay = new Map()
  }
}

/** Evicts the oldest entry if the map is too large. */
function putBounded<T>(map: Map<string, T>, name: string, value: T, most: number): void {
  map.set(name, value)
  if (map.size > most) map.delete(map.keys().next().value!)
}
