/**
 * The connection a heart beats through: one, its own, past any pooler where there is a way. It shares nothing with the
 * pool, so that work which waits for connections cannot keep a beat waiting.
 *
 * Invariant: a beat answers within its deadline or fails, and after a failure the connection is gone: the next beat makes a
 * new one. Used in a thread that has to be small: nothing is imported that a beat does not need.
 */
import pg from 'pg'
import { withDeadline } from '../lib/deadline.ts'
import { beat, beatValues, type Vitals } from './heartbeat.ts'
import { beginWithSettings, forSession } from './session.ts'
import { socketOf } from './socket.ts'

export interface Pulse {
  /** false: that worker was declared dead. */
  beat(id: string, vitals: Vitals): Promise<boolean>
  /** Within half a second, whatever the database does. */
  end(): Promise<void>
}

const goodbyeMs = 500

interface Link {
  client: pg.Client
  named: string
  /** By a pooler. */
  shared: boolean
}

/** `lost`: the link was cut, and not by us. */
export function openPulse(url: string, deadlineMs: number, lost: () => void): Pulse {
  let link: Link | undefined

  function hangUp(): void {
    const left = link
    link = undefined
    if (left !== undefined) socketOf(left.client).destroy()
  }

  async function connect(id: string): Promise<Link> {
    const config: pg.ClientConfig & { pipeline: boolean } = {
      connectionString: url,
      connectionTimeoutMillis: deadlineMs,
      // So that whoever looks at the sessions of a server sees whose heart it is.
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
    // Not before: one that never came about is the failure of a beat.
    client.once('end', () => {
      if (link !== made) return
      link = undefined
      lost()
    })
    const { rows } = await client.query<{ id: number }>('select pg_backend_pid() as id')
    // A pooler greets in its own name. What it gives us may be somebody else's next: nothing is left behind in it.
    made.shared = rows[0]!.id !== (client as unknown as { processID: number }).processID
    if (!made.shared) await client.query(forSession)
    return made
  }

  async function send(id: string, vitals: Vitals): Promise<boolean> {
    if (link !== undefined && link.named !== id) hangUp()
    const { client, shared } = link ?? (await connect(id))
    const values = beatValues(id, vitals, null)
    if (!shared) return (await client.query({ text: beat.text, values })).rows.length > 0
    const answers = [client.query(beginWithSettings), client.query({ text: beat.text, values }), client.query('commit')]
    await Promise.allSettled(answers)
    const [, answer] = await Promise.all(answers)
    return answer!.rows.length > 0
  }

  return {
    beat: (id, vitals) =>
      withDeadline(send(id, vitals), deadlineMs, () => new Error('no answer in time')).catch(error => {
        hangUp()
        throw error
      }),
    async end() {
      const left = link
      link = undefined
      const ending = left?.client.end()
      if (ending) await withDeadline(ending, goodbyeMs, () => new Error('no answer in time')).catch(() => {})
      if (left) socketOf(left.client).destroy()
    },
  }
}
