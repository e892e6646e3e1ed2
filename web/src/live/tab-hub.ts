/**
 * The tabs of a browser with their common event streams; runs in the shared worker. A tab that sends nothing for three minutes counts as
 * gone, because a tab that crashes sends no farewell. A tab that only slept comes back with its next message.
 */
import type { Listener } from './connection.ts'
import { StreamPool } from './stream-pool.ts'
import { type FromWorker, forgottenAfterMs, type Port, stayEveryMs, type ToWorker } from './worker-protocol.ts'

type TabPort = Port<FromWorker, ToWorker>

/** Not a batch or a job: their addresses have an id between `v1` and `events`. */
export const isStreamOfEverything = (url: string): boolean => url.endsWith('/api/v1/events')

class Tab {
  readonly #port: TabPort
  readonly #pool: StreamPool
  /** By address: leaves the address. */
  readonly #followed = new Map<string, () => void>()
  seenAt = Date.now()

  constructor(port: TabPort, pool: StreamPool) {
    this.#port = port
    this.#pool = pool
  }

  follow(url: string): void {
    const listener: Listener = {
      onEvent: event => this.#port.postMessage({ url, event }),
      onStatus: status => this.#port.postMessage({ url, status }),
    }
    const leaveBefore = this.#followed.get(url)
    this.#followed.set(url, this.#pool.follow(url, listener))
    leaveBefore?.()
  }

  stay(urls: readonly string[]): void {
    for (const url of urls) if (!this.#followed.has(url)) this.follow(url)
    this.#port.postMessage({ isHere: true })
  }

  leave(url: string): void {
    this.#followed.get(url)?.()
    this.#followed.delete(url)
  }

  close(): void {
    for (const url of [...this.#followed.keys()]) this.leave(url)
  }
}

export class TabHub {
  readonly #pool = new StreamPool(isStreamOfEverything)
  readonly #tabs = new Set<Tab>()

  constructor() {
    setInterval(() => this.#closeSilent(), stayEveryMs)
  }

  connect(port: TabPort): void {
    const tab = new Tab(port, this.#pool)
    this.#tabs.add(tab)
    port.onmessage = ({ data }) => this.#take(tab, data)
  }

  #take(tab: Tab, message: ToWorker): void {
    tab.seenAt = Date.now()
    if (message.do === 'close') {
      tab.close()
      this.#tabs.delete(tab)
      return
    }
    this.#tabs.add(tab)
    if (message.do === 'stay') tab.stay(message.urls)
    else tab[message.do](message.url)
  }

  #closeSilent(): void {
    for (const tab of this.#tabs) {
      if (Date.now() - tab.seenAt <= forgottenAfterMs) continue
      tab.close()
      this.#tabs.delete(tab)
    }
  }
}
