/**
 * Talks to a server that may have stopped answering: every query and the closing of a connection have a deadline. start, keeper and leave
 * use this file for the keeper's connection.
 */
import type pg from 'pg'
import { withDeadline } from '../lib/with-deadline.ts'

const answerMs = 3000
const disconnectMs = 1000
const late = () => new Error('the embedded PostgreSQL does not answer')

export async function queryWithDeadline(
  client: pg.Client,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>> {
  const { rows } = await withDeadline(client.query(text, values), answerMs, late)
  return rows[0] ?? {}
}

/** Resolves when the server has closed the connection, or after `disconnectMs` without the server. */
export async function closeConnection(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), disconnectMs, late).catch(() => inside(client).connection.stream.destroy())
}

/** Sets whether this connection keeps a finished program alive. */
export function keepsAlive(client: pg.Client, does: boolean): void {
  if (does) inside(client).ref()
  else inside(client).unref()
}

/** Missing in pg's types. */
function inside(client: pg.Client) {
  return client as unknown as { ref(): void; unref(): void; connection: { stream: { destroy(): void } } }
}
