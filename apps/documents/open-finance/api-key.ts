/**
 * Keeps one API key of Pluggy for all workers until the key expires. The key is in the memory of each process, and encrypted in
 * PostgreSQL, so that a new process, or the process beside, does not ask Pluggy for another key. Only the client secret decrypts the key:
 * a copy of the database does not.
 *
 * Invariant: at most one process asks for a new key at a time. Each key has a generation, and a key is replaced only by the process that
 * saw the present generation fail or expire. A process that dies in between loses its turn after `longestRenewal`. A login that Pluggy
 * refuses fails for every sync that waits for the key, in all processes: no waiting sync repeats the login.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { type Engine, minutes, providerWait, seconds } from 'retoma'
import { clockOf } from 'retoma/http'
import { leaveRenewal, readKey, saveKey, takeRenewal } from '../store/pluggy-key.ts'

export interface ApiKey {
  key: string
  generation: number
}

export interface ApiKeysOptions {
  engine: () => Engine
  baseUrl: string
  clientId: string
  clientSecret: string
  /** Asks Pluggy for a new key. */
  logIn(signal: AbortSignal): Promise<string>
}

/** A key is valid for 2 hours. */
const validFor = minutes(110)
/** Longer than the time limit of a request. */
const longestRenewal = seconds(90)
const lookEvery = 200
/** The login of another process failed. Within this time the other process stores the wait or the stop of Pluggy for all processes. */
const afterFailure = seconds(2)

export class ApiKeys {
  readonly #options: ApiKeysOptions
  /** The row of these credentials. */
  readonly #client: string
  readonly #secret: Buffer
  #known: (ApiKey & { expiresAt: number }) | undefined
  /** `signal`: of the sync that began the renewal. */
  #renewing: { key: Promise<ApiKey>; signal: AbortSignal } | undefined

  constructor(options: ApiKeysOptions) {
    const { baseUrl, clientId, clientSecret } = options
    this.#options = options
    this.#client = createHash('sha256').update(`${baseUrl}\0${clientId}`).digest('hex')
    this.#secret = Buffer.from(hkdfSync('sha256', clientSecret, this.#client, 'retoma open finance: api key', 32))
  }

  /** The present key. `refused`: a key that Pluggy has refused; a later key is returned. */
  get(signal: AbortSignal, refused: ApiKey | undefined = undefined): Promise<ApiKey> {
    const known = this.#known
    const isUsable = known !== undefined && known.expiresAt > clockOf(this.#options.engine()).now().getTime()
    if (isUsable && known.generation > (refused?.generation ?? 0)) return Promise.resolve(known)
    // Concurrent syncs of a process share one renewal, and its error: Pluggy would refuse the next login too. Only a renewal that ended with
    // the signal of another sync is begun anew.
    const shared = this.#renewing
    if (shared === undefined) return this.#begin(signal, refused)
    return shared.key.then(
      key => (key.generation > (refused?.generation ?? 0) ? key : this.get(signal, refused)),
      error => {
        if (signal.aborted || !shared.signal.aborted) throw error
        return this.get(signal, refused)
      },
    )
  }

  #begin(signal: AbortSignal, refused: ApiKey | undefined): Promise<ApiKey> {
    const key = this.#renew(signal, refused?.generation ?? 0).finally(() => {
      this.#renewing = undefined
    })
    this.#renewing = { key, signal }
    return key
  }

  async #renew(signal: AbortSignal, refused: number): Promise<ApiKey> {
    const engine = this.#options.engine()
    for (let hasWaited = false; ; hasWaited = true) {
      signal.throwIfAborted()
      const stored = await readKey(engine, this.#client)
      const key = stored === undefined || !stored.isValid ? undefined : this.#open(stored)
      if (stored !== undefined && key !== undefined && stored.generation > refused)
        return this.#keep(key, stored.generation, stored.expiresAt!.getTime())
      if (hasWaited && stored?.hasFailed) throw failedElsewhere()
      const generation = stored?.generation ?? 0
      if (await takeRenewal(engine, this.#client, { generation, longestMs: longestRenewal, afterFailure: !hasWaited }))
        return this.#replace(signal, generation)
      await clockOf(engine).sleep(lookEvery, signal)
    }
  }

  async #replace(signal: AbortSignal, generation: number): Promise<ApiKey> {
    const engine = this.#options.engine()
    try {
      const key = await this.#options.logIn(signal)
      const next = generation + 1
      const sealed = this.#seal(key, next)
      await saveKey(engine, this.#client, { generation, sealed, validMs: validFor })
      return this.#keep(key, next, clockOf(engine).now().getTime() + validFor)
    } catch (error) {
      // A turn that cannot be given back ends by itself.
      await leaveRenewal(engine, this.#client, { generation, hasFailed: !signal.aborted }).catch(() => {})
      throw error
    }
  }

  #keep(key: string, generation: number, expiresAt: number): ApiKey {
    this.#known = { key, generation, expiresAt }
    return this.#known
  }

  #seal(key: string, generation: number): Buffer {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#secret, nonce).setAAD(this.#about(generation))
    const text = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), text])
  }

  /** undefined: another client secret has encrypted the key. */
  #open({ sealed, generation }: { sealed: Buffer | null; generation: number }): string | undefined {
    if (sealed === null || sealed.length < 29) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#secret, sealed.subarray(0, 12))
      decipher.setAAD(this.#about(generation)).setAuthTag(sealed.subarray(12, 28))
      return `${decipher.update(sealed.subarray(28), undefined, 'utf8')}${decipher.final('utf8')}`
    } catch {
      return undefined
    }
  }

  #about(generation: number): Buffer {
    return Buffer.from(`${this.#client} ${generation}`)
  }
}

const failedElsewhere = () =>
  providerWait({
    retryAfter: afterFailure,
    code: 'provider_busy',
    message: 'outro processo não conseguiu entrar na Pluggy',
  })
