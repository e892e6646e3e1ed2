/**
 * Runs in one process for all tabs: one event stream for each address, whatever the number of tabs. A browser opens at most six
 * connections to a server, so that a seventh tab with a stream of its own would wait for ever.
 */
import { Connection, type Listener } from './connection.ts'
import { type FromWorker, forgottenAfterMs, stayEveryMs, type ToWorker } from './worker-protocol.ts'

const connections = new Map<string, Connection>()

class Tab {
  readonly #port: MessagePort
  readonly #listeners = new Map<string, Listener>()
  #seenAt = Date.now()

  constructor(port: MessagePort) {
    this.#port = port
  }

  take(message: ToWorker): void {
    this.#seenAt = Date.now()
    if (message.do === 'follow') this.#follow(message.url)
    else if (message.do === 'leave') this.#leave(message.url)
    else if (message.do === 'close') this.close()
  }

  get isForgotten(): boolean {
    return Date.now() - this.#seenAt > forgottenAfterMs
  }

  close(): void {
    for (const url of [...this.#listeners.keys()]) this.#leave(url)
  }

  #follow(url: string): void {
    if (this.#listeners.has(url)) return
    const send = (message: FromWorker) => this.#port.postMessage(message)
    const listener: Listener = {
      onEvent: event => send({ url, event }),
      onStatus: status => send({ url, status }),
    }
    this.#listeners.set(url, listener)
    const connection = connections.get(url) ?? new Connection(url)
    connections.set(url, connection)
    connection.add(listener)
  }

  #leave(url: string): void {
    const listener = this.#listeners.get(url)
    const connection = connections.get(url)
    if (listener === undefined || connection === undefined) return
    this.#listeners.delete(url)
    connection.remove(listener)
    if (connection.isUnused) connections.delete(url)
  }
}

const tabs = new Set<Tab>()
setInterval(() => {
  for (const tab of tabs) {
    if (!tab.isForgotten) continue
    tab.close()
    tabs.delete(tab)
  }
}, stayEveryMs)

addEventListener('connect', event => {
  const [port] = (event as MessageEvent).ports
  if (port === undefined) return
  const tab = new Tab(port)
  tabs.add(tab)
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    tab.take(data)
    if (data.do === 'close') tabs.delete(tab)
  }
})
