/**
 * What is done with a connection to a server that may have stopped answering: every question and the goodbye have a
 * deadline. Used wherever the keeper's connection is (start, keeper, leave).
 */
import type pg from 'pg'
import { withDeadline } from '../lib/deadline.ts'

const answerMs = 3000
const goodbyeMs = 1000
const late = () => new Error('the embedded PostgreSQL does not answer')

export async function ask(client: pg.Client, text: string, values: unknown[] = []): Promise<Record<string, unknown>> {
  const { rows } = await withDeadline(client.query(text, values), answerMs, late)
  return rows[0] ?? {}
}

/** Resolves when the server has seen it, or, late, without it. */
export async function hangUp(client: pg.Client): Promise<void> {
  await withDeadline(client.end(), goodbyeMs, late).catch(() => inside(client).connection.stream.destroy())
}

/** Whether this connection is a reason for a finished program to stay. */
export function keepsAlive(client: pg.Client, does: boolean): void {
  if (does) inside(client).ref()
  else inside(client).unref()
}

/** Missing in pg's types. */
function inside(client: pg.Client) {
  return client as unknown as { ref(): void; unref(): void; connection: { stream: { destroy(): void } } }
}
