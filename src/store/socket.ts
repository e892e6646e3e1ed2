/** The socket below a connection: to pause it, and to end it without saying goodbye. */
import type pg from 'pg'

interface Socket {
  readonly destroyed: boolean
  pause(): void
  resume(): void
  destroy(): void
}

/** Missing in pg's types. */
export const socketOf = (client: pg.ClientBase): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream
