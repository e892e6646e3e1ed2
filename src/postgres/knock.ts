/**
 * Asks at the socket whether a server is there, by really connecting. The connection that succeeds is handed out: it
 * becomes the keeper (keeper.ts). Called by start and by leave.
 */
import pg from 'pg'
import { say } from '../errors.ts'
import type { Words } from './trouble.ts'

export type Answer =
  | { is: 'up'; client: pg.Client }
  /** It lets nobody in: it is starting, recovering or shutting down. */
  | { is: 'starting'; why: Words }
  /** It has no place left, so others are in. */
  | { is: 'full'; why: Words }
  /** It is there and says nothing. */
  | { is: 'silent'; why: Words }
  | { is: 'away' }

const gone = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02'])
const exists = new Set(['42P04', '23505'])

export const port = 5432
const user = 'retoma'
const database = 'retoma'

/** `localhost` is only there to make it a URL that every parser takes; `host` in the query is what counts. */
export function socketUrl(socket: string): string {
  return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(socket)}&sslmode=disable`
}

export async function knock(socket: string, name: string, at = database): Promise<Answer> {
  const client = new pg.Client({
    host: socket,
    port,
    user,
    database: at,
    ssl: false,
    application_name: name,
    connectionTimeoutMillis: 5000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return { is: 'up', client }
  } catch (error) {
    client.end().catch(() => {})
    const { code, message } = error as Error & { code?: string }
    if (code !== undefined && gone.has(code)) return { is: 'away' }
    if (code === '57P03') return { is: 'starting', why: message }
    if (code === '53300') return { is: 'full', why: message }
    if (/terminated/.test(message)) return { is: 'away' }
    if (/timeout/.test(message))
      return { is: 'silent', why: say('it accepts no connection', 'ele não aceita conexões') }
    if (code === '3D000' && at === database) return createDatabase(socket, name)
    throw error
  }
}

async function createDatabase(socket: string, name: string): Promise<Answer> {
  const answer = await knock(socket, 'retoma init', 'postgres')
  if (answer.is !== 'up') return answer
  try {
    await answer.client.query(`create database ${database}`)
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string }
    // 55006: somebody else copies the template at this moment.
    if (code === '55006' || gone.has(code) || /terminated/.test(message)) return { is: 'starting', why: message }
    if (!exists.has(code)) throw error
  } finally {
    await answer.client.end().catch(() => {})
  }
  return knock(socket, name)
}
