/**
 * Connects the heartbeat thread to PostgreSQL: a single connection of its own, past any pooler if possible. The
 * connection does not belong to the pool, so work that waits for connections cannot delay a heartbeat.
 *
 * Invariant: a heartbeat answers within its deadline or fails. After a failure the connection is closed, and the next
 * heartbeat opens a new connection. The heartbeat thread must be small: this file imports only modules that a heartbeat
 * needs.
 */
import pg from 'pg'
import { schemaNames } from '../database/schema-name.ts'
import { beginWithSettings, forSession } from '../database/session-settings.ts'
import { socketOf } from '../database/socket.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { type HeartbeatPayload, heartbeat, heartbeatValues } from '../worker/sql/lease-heartbeat.ts'

export interface HeartbeatConnection {
  /** Returns false if the worker was declared dead. */
  write(id: string, measurements: HeartbeatPayload): Promise<boolean>
  /** Ends within 0.5 s even if the database does not answer. */
  end(): Promise<void>
}

const disconnectMs = 500

interface Link {
  client: pg.Client
  named: string
  /** A pooler shares the session. */
  shared: boolean
}

export interface HeartbeatConnectionOptions {
  /** The configuration of pg. */
  config: pg.ClientConfig
  schema: string
  deadlineMs: number
  /** Called if the connection breaks from outside. */
  lost: () => void
}

export function openHeartbeatConnection(options: HeartbeatConnectionOptions): HeartbeatConnection {
  const { config: given, deadlineMs, lost } = options
  const { text } = schemaNames(options.schema).statement(heartbeat)
  let link: Link | undefined

  function hangUp(): void {
    const left = link
    link = undefined
    if (left !== undefined) socketOf(left.client).destroy()
  }

  async function connect(id: string): Promise<Link> {
    const config: pg.ClientConfig & { pipeline: boolean } = {
      ...given,
      connectionTimeoutMillis: deadlineMs,
      // Shows the worker id in the server's list of sessions.
      application_name: `retoma ${id}`,
      keepAlive: true,
      keepAliveInitialDelayMillis: 2000,
      pipeline: true,
    }
    const client = new pg.Client(config)
    client.on('error', () => {})
    const made = { client, named: id, shared: true }
    link = made
    await client.connect()
    // Not earlier: a failed connect is the failure of a heartbeat.
    client.once('end', () => {
      if (link !== made) return
      link = undefined
      lost()
    })
    const { rows } = await client.query<{ id: number }>('select pg_backend_pid() as id')
    // A pooler sends a process id of its own. Its session may serve another client next, so the heartbeat leaves no
    // setting behind.
    made.shared = rows[0]!.id !== (client as unknown as { processID: number }).processID
    if (!made.shared) await client.query(forSession)
    return made
  }

  async function send(id: string, measurements: HeartbeatPayload): Promise<boolean> {
    if (link !== undefined && link.named !== id) hangUp()
    const { client, shared } = link ?? (await connect(id))
    const values = heartbeatValues(id, measurements, null)
    if (!shared) return (await client.query({ text, values })).rows.length > 0
    const answers = [client.query(beginWithSettings), client.query({ text, values }), client.query('commit')]
    await Promise.allSettled(answers)
    const [, answer] = await Promise.all(answers)
    return answer!.rows.length > 0
  }

  return {
    write: (id, measurements) =>
      withDeadline(send(id, measurements), deadlineMs, () => new Error('no answer in time')).catch(error => {
        hangUp()
        throw error
      }),
    async end() {
      const left = link
      link = undefined
      const ending = left?.client.end()
      if (ending) await withDeadline(ending, disconnectMs, () => new Error('no answer in time')).catch(() => {})
      if (left) socketOf(left.client).destroy()
    },
  }
}
