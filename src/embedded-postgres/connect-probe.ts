/**
 * Checks for a server at the socket by connecting. A successful connection is returned and becomes the keeper's connection (server-handle.ts).
 * start and leave call this.
 */
import pg from 'pg'
import { localized } from '../errors/errors.ts'
import type { Words } from './server-errors.ts'

export type ProbeAnswer =
  | { is: 'up'; client: pg.Client }
  /** The server accepts no connections: the server is starting, recovering or shutting down. */
  | { is: 'starting'; why: Words }
  /** The server has no free connection, so other clients are connected. */
  | { is: 'full'; why: Words }
  /** The server is there and does not answer. */
  | { is: 'silent'; why: Words }
  | { is: 'away' }

const gone = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02'])
const exists = new Set(['42P04', '23505'])

export const port = 5432
const user = 'retoma'
const database = 'retoma'

/** `localhost` only makes the URL valid for every parser; `host` in the query decides. */
export function socketUrl(socket: string): string {
  return `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(socket)}&sslmode=disable`
}

export async function probeServer(socket: string, name: string, at = database): Promise<ProbeAnswer> {
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
      return { is: 'silent', why: localized('it accepts no connection', 'ele não aceita conexões') }
    if (code === '3D000' && at === database) return createDatabase(socket, name)
    throw error
  }
}

async function createDatabase(socket: string, name: string): Promise<ProbeAnswer> {
  const answer = await probeServer(socket, 'retoma init', 'postgres')
  if (answer.is !== 'up') return answer
  try {
    await answer.client.query(`create database ${database}`)
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string }
    // 55006: another process copies the template right now.
    if (code === '55006' || gone.has(code) || /terminated/.test(message)) return { is: 'starting', why: message }
    if (!exists.has(code)) throw error
  } finally {
    await answer.client.end().catch(() => {})
  }
  return probeServer(socket, name)
}
