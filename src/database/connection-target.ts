/**
 * Describes how to connect to a database: a connection string, a configuration of pg, or a pool of the user. From each, the engine derives
 * the configuration of its own connections, the part of it that a thread can use, and the address for logs and errors.
 *
 * Invariant: the address contains neither user nor password.
 */
import type { ConnectionConfig, ConnectionPool } from './connection-config.ts'

export interface ConnectionTarget {
  readonly config: ConnectionConfig
  /** Host, port and database. */
  readonly address: string
  /** For advice about missing rights. */
  readonly user: string
  readonly database: string
}

export function targetOf(given: string | ConnectionConfig): ConnectionTarget {
  const config = (typeof given === 'string' ? { connectionString: given } : given) as ConnectionConfig
  const { connectionString } = config
  if (connectionString !== undefined)
    return { config, address: addressOf(connectionString), ...namesOf(connectionString) }
  const host = config.host ?? 'localhost'
  const database = config.database ?? '…'
  const address = host.startsWith('/') ? `${host} (${database})` : `${host}:${config.port ?? 5432}/${database}`
  return { config, address, user: config.user ?? '…', database }
}

/** The password of a pool's options is not enumerable. */
export function targetOfPool(pool: ConnectionPool): ConnectionTarget {
  const options = pool.options as ConnectionConfig
  const { password } = options
  return targetOf({ ...options, ...(password === undefined ? {} : { password }) } as ConnectionConfig)
}

function namesOf(url: string): { user: string; database: string } {
  try {
    const { username, pathname } = new URL(url)
    return {
      user: decodeURIComponent(username) || '…',
      database: decodeURIComponent(pathname.slice(1)) || '…',
    }
  } catch {
    return { user: '…', database: '…' }
  }
}

/** Returns the address in a connection string, without user, password or options. */
function addressOf(url: string): string {
  try {
    const parsed = new URL(url)
    const socket = parsed.searchParams.get('host')
    const database = parsed.pathname.replace(/^\//, '') || 'postgres'
    const host = `${parsed.hostname || 'localhost'}:${parsed.port || 5432}/${database}`
    return socket === null ? host : `${socket} (${database})`
  } catch {
    return 'DATABASE_URL'
  }
}

/** The options that a connection of the heartbeat thread needs; the options of a pool are none of them. */
const ofThread = [
  ...[
    'connectionString',
    'host',
    'port',
    'database',
    'user',
    'password',
    'ssl',
    'stream',
    'options',
    'client_encoding',
  ],
  ...['sslnegotiation', 'enableChannelBinding', 'replication'],
] as const

export interface ThreadConnection {
  /** Plain data, without functions. */
  readonly config: ConnectionConfig
  /** The main thread gives the password for each new connection. */
  readonly asksPassword: boolean
}

/**
 * The connection for another thread; undefined if the configuration has a function besides `password`, such as `stream`: functions cannot
 * be passed to a thread.
 */
export function threadConnectionOf({ config }: ConnectionTarget): ThreadConnection | undefined {
  const options = config as Record<string, unknown>
  const asksPassword = typeof options.password === 'function'
  const given = ofThread.filter(name => options[name] !== undefined && !(asksPassword && name === 'password'))
  try {
    const plain = Object.fromEntries(given.map(name => [name, name === 'ssl' ? withKey(options.ssl) : options[name]]))
    return { config: structuredClone(plain), asksPassword }
  } catch {
    return undefined
  }
}

/** The options of TLS with an enumerable key: pg makes `key` of the given object not enumerable, and a clone would lose the key. */
function withKey(ssl: unknown): unknown {
  const key = typeof ssl === 'object' && ssl !== null && 'key' in ssl ? ssl.key : undefined
  return key === undefined ? ssl : { ...(ssl as object), key }
}

/** The current password of a configuration whose password is a function. */
export async function passwordOf({ config }: ConnectionTarget): Promise<string | undefined> {
  const { password } = config
  return typeof password === 'function' ? password() : password
}
