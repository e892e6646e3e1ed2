/**
 * Fetches the page of a shop: politely, and without reaching into the network of the worker. Every hop (the link, each redirect, each
 * robots.txt) is checked before a connection: the form of the link, each address of the name, the robots.txt of the host.
 *
 * Invariant: no socket connects to an address that isPublicAddress refuses, except for the hosts and ports of `allow`. A fetch ends within
 * `timeoutMs` of network time, and each host has at most two requests at once (local-turns.ts, or the turns of turns.ts).
 */
import { lookup } from 'node:dns/promises'
import type { FetchedPage, HostTurns, NoPriceReason } from '../providers/types.ts'
import { type Address, BadEncoding, type Dial, get, type Received, type Target, TooLarge } from './http-get.ts'
import { type CheckedLink, checkLink } from './link.ts'
import { localTurns } from './local-turns.ts'
import { isPublicAddress } from './public-address.ts'
import { isAllowedBy, type RobotsRules, readRobots } from './robots.ts'

/** Names us, and tells a shop which token its robots.txt may use. */
export const userAgent = 'RetomaQuotes/0.1 (price quotes; obeys robots.txt)'
const robotsToken = 'RetomaQuotes'

/** A turn at a host never lasts longer. A turn that is not given back within this time belongs to a dead process. In milliseconds. */
export const longestTurn = 30_000

export interface FetchOptions {
  /** The instant of `seenAt`, such as `() => engine.clock.now()`. */
  now: () => Date
  /** Entries of RETOMA_FETCH_ALLOW: `127.0.0.1:8080`. */
  allow?: readonly string[] | undefined
  /** For a fetch without turns of its own. Default: two at once per host in this process only. */
  turns?: HostTurns | undefined
  /** Network time of a page with all redirects. Default 20 s, at most `longestTurn`. */
  timeoutMs?: number | undefined
  /** Default 5 MB. */
  mostBytes?: number | undefined
  /** Default: the resolver of the system. */
  resolve?: ((host: string) => Promise<readonly Address[]>) | undefined
  /** For tests: opens the connections. */
  dial?: Dial | undefined
}

export type Fetched =
  | ({ ok: true } & FetchedPage)
  | {
      ok: false
      reason: NoPriceReason
      /** The status, the error code, the number of seconds. */
      fact: string | number | null
      temporary: boolean
      finalUrl: string | null
      seenAt: Date
    }

export interface PageFetcher {
  /** Rejects only with the reason of `signal` and with an error of the turns. `turns`: the turns of the caller, over all workers. */
  fetch(link: string, signal: AbortSignal, turns?: HostTurns): Promise<Fetched>
}

const mostRedirects = 5
/**
 * Each lookup holds one of the four threads of Node that lookups of the providers, files and compression need, too. A silent name server of a
 * shop holds the thread for as long as the system waits.
 */
const lookupsAtOnce = 2
const megabyte = 1024 * 1024
const mostRobotsBytes = 512 * 1024
const robotsKept = 60 * 60 * 1000
const mostHosts = 500

export function createPageFetcher(options: FetchOptions): PageFetcher {
  const { now, turns: usualTurns = localTurns(2), timeoutMs = 20_000, mostBytes = 5 * megabyte } = options
  const allow = (options.allow ?? []).map(entry => entry.toLowerCase())
  const resolve = options.resolve ?? resolveBySystem
  const lookups = localTurns(lookupsAtOnce)
  const robots = new Map<string, { rules: RobotsRules; until: number }>()
  /** The requests for a robots.txt that are under way, by origin. */
  const underWay = new Map<string, Promise<unknown>>()

  async function fetch(link: string, signal: AbortSignal, turns = usualTurns): Promise<Fetched> {
    const budget = new Budget(timeoutMs, signal)
    const visit: Visit = { budget, signal, turns }
    let at: URL | undefined
    try {
      let next = link
      for (let hop = 0; hop <= mostRedirects; hop++) {
        const checked = checkedLink(next, at)
        at = checked.url
        const target = await targetOf(checked, visit)
        const rules = await robotsOf(target, visit)
        if (!isAllowedBy(rules, at)) throw new Refused('robots')
        const received = await request(target, pageRead, visit)
        const location = redirectOf(received)
        if (location === null) return arrived(received, at)
        next = location
      }
      throw new Refused('too_many_redirects', mostRedirects)
    } catch (error) {
      signal.throwIfAborted()
      const refused = refusalOf(error, { budget, mostBytes, timeoutMs })
      if (refused === undefined) throw error
      const { reason, fact, temporary } = refused
      return { ok: false, reason, fact, temporary, finalUrl: at?.href ?? null, seenAt: now() }
    }
  }

  function checkedLink(link: string, base: URL | undefined): CheckedLink {
    const checked = checkLink(link, allow, base)
    if (typeof checked === 'string') throw new Refused(checked)
    return checked
  }

  /** One request, in a turn of its host. Nobody has two turns at once, so no two requests wait for each other. */
  async function request(target: Target, read: Read, { budget, signal, turns }: Visit): Promise<Received> {
    const leave = await turns.enter(target.host, signal).catch(error => {
      throw new TurnError(error)
    })
    try {
      return await budget.spend(within => get(target, { ...read, ...dialOf(options) }, within))
    } finally {
      await leave()
    }
  }

  /** Resolves the name once. A name with a private address among its addresses is refused as a whole. */
  async function targetOf(link: CheckedLink, { budget, signal }: Visit): Promise<Target> {
    const { url, host, port, isSecure, isOpened } = link
    // The turn lasts as long as the lookup, also if the page has given up: nobody can end a lookup. The wait is no time of the page.
    const leave = await lookups.enter('lookup', signal)
    const looking = resolve(host).finally(leave)
    const addresses = await budget.spend(within => withSignal(looking, within))
    if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
    if (!isOpened && !addresses.every(({ address }) => isPublicAddress(address))) throw new Refused('forbidden_address')
    return { url, host, port, isSecure, addresses }
  }

  /**
   * The rules of the origin. An unreachable robots.txt allows nothing for now; an absent one allows everything (RFC 9309). Pages that come
   * while another page fetches the robots.txt of their origin wait for that answer; if there is none, each page asks.
   */
  async function robotsOf(target: Target, visit: Visit): Promise<RobotsRules> {
    const { origin } = target.url
    const known = () => {
      const kept = robots.get(origin)
      return kept !== undefined && kept.until > now().getTime() ? kept.rules : undefined
    }
    const asked = known() === undefined ? underWay.get(origin) : undefined
    if (asked !== undefined) await withSignal(asked, visit.signal)
    const rules = known()
    if (rules !== undefined) return rules
    const asking = keepRobots(target, visit)
    const over = asking.then(
      () => {},
      () => {},
    )
    underWay.set(origin, over)
    void over.then(() => {
      if (underWay.get(origin) === over) underWay.delete(origin)
    })
    return asking
  }

  async function keepRobots(target: Target, visit: Visit): Promise<RobotsRules> {
    const { origin } = target.url
    const rules = await fetchRobots(target, visit)
    if (robots.size >= mostHosts) robots.delete(robots.keys().next().value!)
    robots.delete(origin)
    robots.set(origin, { rules, until: now().getTime() + robotsKept })
    return rules
  }

  async function fetchRobots(from: Target, visit: Visit): Promise<RobotsRules> {
    let at: Target = { ...from, url: new URL('/robots.txt', from.url) }
    for (let hop = 0; hop <= mostRedirects; hop++) {
      const received = await request(at, robotsRead, visit)
      const location = redirectOf(received)
      if (location !== null) {
        const checked = checkLink(location, allow, at.url)
        // A robots.txt that leads nowhere is absent.
        if (typeof checked === 'string') return []
        at = await targetOf(checked, visit)
        continue
      }
      const { status, body } = received
      if (status >= 500 || status === 429) throw new Refused('robots', status, true)
      if (status < 200 || status >= 300) return []
      return readRobots(new TextDecoder().decode(body), robotsToken)
    }
    return []
  }

  const pageRead: Read = { headers: pageHeaders, mostBytes }

  function arrived({ status, header, body }: Received, url: URL): Fetched {
    const isBusy = status === 408 || status === 429 || status >= 500
    if (status < 200 || status >= 300) throw new Refused('http_status', status, isBusy)
    const contentType = header('content-type')
    const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
    if (type !== '' && !/^(?:text\/html|application\/xhtml\+xml)$/.test(type))
      throw new Refused('not_html', /^[\w.+/-]{1,60}$/.test(type) ? type : 'unknown')
    return { ok: true, finalUrl: url.href, contentType, page: body, seenAt: now() }
  }

  return { fetch }
}

const dialOf = ({ dial }: FetchOptions) => (dial === undefined ? {} : { dial })

const pageHeaders = {
  'user-agent': userAgent,
  accept: 'text/html, application/xhtml+xml',
  'accept-language': 'pt-BR, pt;q=0.9, en;q=0.5',
  'accept-encoding': 'gzip, br',
}
const robotsHeaders = { 'user-agent': userAgent, accept: 'text/plain, */*', 'accept-encoding': 'gzip, br' }

type Read = Omit<Parameters<typeof get>[1], 'dial'>
const robotsRead: Read = { headers: robotsHeaders, mostBytes: mostRobotsBytes, isCutLong: true }

/** The reason of a page that was not fetched. */
class Refused extends Error {
  readonly reason: NoPriceReason
  readonly fact: string | number | null
  readonly temporary: boolean

  constructor(reason: NoPriceReason, fact: string | number | null = null, temporary = false) {
    super(reason)
    this.reason = reason
    this.fact = fact
    this.temporary = temporary
  }
}

/** An error of the turns, which the caller of `fetch` gets unchanged. */
class TurnError extends Error {
  override readonly cause: unknown

  constructor(cause: unknown) {
    super('turn')
    this.cause = cause
  }
}

/** One fetch of a page, with all its requests. */
interface Visit {
  budget: Budget
  signal: AbortSignal
  turns: HostTurns
}

/** Counts the time on the network; waits for a turn do not count. */
class Budget {
  #left: number
  readonly #signal: AbortSignal
  isOver = false

  constructor(ms: number, signal: AbortSignal) {
    this.#left = ms
    this.#signal = signal
  }

  async spend<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const began = performance.now()
    const deadline = AbortSignal.timeout(Math.max(Math.ceil(this.#left), 1))
    try {
      return await work(AbortSignal.any([this.#signal, deadline]))
    } finally {
      this.#left -= performance.now() - began
      this.isOver = deadline.aborted
    }
  }
}

/** Rethrows an error of the turns. undefined: a fault of this code. */
function refusalOf(
  error: unknown,
  { budget, mostBytes, timeoutMs }: { budget: Budget; mostBytes: number; timeoutMs: number },
): Pick<Refused, 'reason' | 'fact' | 'temporary'> | undefined {
  if (error instanceof TurnError) throw error.cause
  if (error instanceof Refused) return error
  if (budget.isOver) return { reason: 'timeout', fact: timeoutMs / 1000, temporary: true }
  if (error instanceof TooLarge) return { reason: 'too_large', fact: mostBytes / megabyte, temporary: false }
  if (error instanceof BadEncoding) return { reason: 'bad_encoding', fact: error.message, temporary: false }
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return undefined
  if (/^(?:Z_|ERR_BROTLI|ERR__ERROR)/.test(code)) return { reason: 'bad_encoding', fact: code, temporary: false }
  return { reason: 'unreachable', fact: /^[A-Z0-9_]{2,60}$/.test(code) ? code : 'unknown', temporary: true }
}

/** Redirects with a new location; another status of the 300s is an answer. */
function redirectOf({ status, header }: Received): string | null {
  const location = header('location')
  return [301, 302, 303, 307, 308].includes(status) ? location : null
}

async function resolveBySystem(host: string): Promise<Address[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

/** A name server may be silent for longer than the signal allows. */
async function withSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nobody waits for `work` after an abort, and a rejection without a listener ends the process.
  work.catch(() => {})
  signal.throwIfAborted()
  let leave = () => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([work, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
