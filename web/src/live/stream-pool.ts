/**
 * Event streams with a limit, for any number of followed addresses. A browser opens at most six HTTP/1.1 connections to a server, and an
 * open stream occupies one of them: with a stream for each open batch, a few tabs would leave no connection for reads.
 *
 * Invariant: at most `most` streams are open: the stream of everything first, then the addresses followed last. An address without a
 * stream gets no events and the status of the stream of everything; its page reads the API again every few seconds.
 */
import { Connection, type Listener, type LiveStatus } from './connection.ts'

/** The stream of everything, and one more for the page in front. Four connections remain for reads. */
export const mostStreams = 2

interface Followed {
  connection: Connection
  listeners: Set<Listener>
  isMain: boolean
}

export class StreamPool {
  /** By address; the address followed last is the last. */
  readonly #followed = new Map<string, Followed>()
  readonly #isMain: (url: string) => boolean
  #most: number

  /** `isMain`: whether an address is the stream of everything. */
  constructor(isMain: (url: string) => boolean, most = mostStreams) {
    this.#isMain = isMain
    this.#most = most
  }

  /** How many streams may be open; 0 closes all streams until the number rises again. */
  set most(most: number) {
    this.#most = most
    this.#share()
  }

  /** Follows an address, and gives the address a stream before others. Returns the function that leaves the address. */
  follow(url: string, listener: Listener): () => void {
    const followed = this.#followed.get(url) ?? this.#create(url)
    this.#followed.delete(url)
    this.#followed.set(url, followed)
    followed.listeners.add(listener)
    this.#share()
    listener.onStatus(this.#statusOf(followed))
    return () => {
      if (!followed.listeners.delete(listener) || followed.listeners.size > 0) return
      followed.connection.close()
      this.#followed.delete(url)
      this.#share()
    }
  }

  #create(url: string): Followed {
    const isMain = this.#isMain(url)
    const listeners = new Set<Listener>()
    const connection = new Connection(url, {
      onEvent: event => {
        for (const listener of listeners) listener.onEvent(event)
      },
      onStatus: status => {
        for (const listener of listeners) listener.onStatus(status)
        if (isMain) this.#tellWithoutStream(status)
      },
    })
    return { connection, listeners, isMain }
  }

  #share(): void {
    const newestFirst = [...this.#followed.values()].reverse()
    const ranked = [...newestFirst.filter(each => each.isMain), ...newestFirst.filter(each => !each.isMain)]
    // The old streams close first, so that their connections are free for the new streams.
    for (const { connection } of ranked.slice(this.#most)) if (connection.isOpen) connection.close()
    for (const { connection } of ranked.slice(0, this.#most)) connection.open()
  }

  #statusOf({ connection }: Followed): LiveStatus {
    if (connection.isOpen) return connection.status
    const main = [...this.#followed.values()].find(each => each.isMain)
    return (main?.connection ?? connection).status
  }

  #tellWithoutStream(status: LiveStatus): void {
    for (const { connection, listeners } of this.#followed.values())
      if (!connection.isOpen) for (const listener of listeners) listener.onStatus(status)
  }
}
