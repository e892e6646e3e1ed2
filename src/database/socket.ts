/** Accesses the socket of a connection: to pause the socket, and to destroy it without a Terminate message. */
import type pg from 'pg'

interface Socket {
  readonly destroyed: boolean
  pause(): void
  resume(): void
  destroy(): void
}

/** Missing in pg's types. */
export const socketOf = (client: pg.ClientBase): Socket =>
  (client as unknown as { connection?: { stream?: Socket } }).connection?.stream ?? withoutSocket(client)

/** A client of the native driver shows no socket. */
const withoutSocket = (client: pg.ClientBase): Socket => ({
  destroyed: false,
  pause() {},
  resume() {},
  destroy: () => void (client as pg.Client).end().catch(() => {}),
})
