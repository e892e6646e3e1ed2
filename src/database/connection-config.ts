/**
 * Defines how an application describes its own connections: a configuration of pg, or a pool. Public types, without the types of pg: an
 * application need not install them.
 */

/** The configuration of a connection, as pg takes it. */
export interface ConnectionConfig {
  /** A connection string. The other options add to the string. Default: none. */
  connectionString?: string | undefined
  /** The host, or the folder of a Unix socket. Default: PGHOST, or localhost. */
  host?: string | undefined
  /** The port. Default: PGPORT, or 5432. */
  port?: number | undefined
  /** The database. Default: PGDATABASE, or the name of the user. */
  database?: string | undefined
  /** The user. Default: PGUSER, or the user of the process. */
  user?: string | undefined
  /** A function is called for each new connection, such as for tokens of a cloud provider that expire. Default: PGPASSWORD, or none. */
  password?: string | (() => string | Promise<string>) | undefined
  /** true, or the options of TLS: ca, cert, key, rejectUnauthorized, servername … Default: no TLS. */
  ssl?: boolean | object | undefined
  /** Creates the socket, as connectors of a cloud provider do. Default: a socket of Node. */
  stream?: ((...given: never[]) => unknown) | undefined
  /** Settings of the session, such as `-c search_path=app`. Default: none. */
  options?: string | undefined
  /** Milliseconds of a statement, enforced by PostgreSQL. Default: the time limit of the engine for each statement. */
  statement_timeout?: number | false | undefined
  /** Milliseconds that the driver waits for an answer. Default: the time limit of the engine for each statement. */
  query_timeout?: number | undefined
  /** How TLS begins. Default: 'postgres'. */
  sslnegotiation?: 'postgres' | 'direct' | undefined
  /** Binds the password exchange to the TLS connection. Default: false. */
  enableChannelBinding?: boolean | undefined
  /** Milliseconds until an idle connection is closed. Default: 10,000. */
  idleTimeoutMillis?: number | undefined
  /** Seconds until a connection is replaced. Default: no bound. */
  maxLifetimeSeconds?: number | undefined
  /** Uses until a connection is replaced. Default: no bound. */
  maxUses?: number | undefined
}

/** The part of a Pool of pg that the engine uses. */
export interface ConnectionPool {
  /** Lends a connection; the engine returns the connection after each statement or transaction. */
  connect(): Promise<unknown>
  /** The options of the pool: the engine opens its connection for LISTEN and for heartbeats with the same options. */
  readonly options: object
  /** Open connections of the pool. */
  readonly totalCount: number
}
