/**
 * Defines every environment variable the engine reads, in one table: the meaning, the effect of absence, the check. `Settings` derives its
 * type from the table, `npm run docs` prints `.env.example` from the table, and src/ reads no other variable. A system reads its own
 * variables (system-settings.ts).
 */
import {
  adminToken,
  chosenSecret,
  host,
  hostsAndPorts,
  oneOf,
  postgresUrl,
  processCount,
  proxies,
  schemaName,
  text,
  webUrl,
  wholeNumber,
} from './setting-checks.ts'

/** How a variable is read, and how `.env.example` describes it. */
export interface Setting {
  /** A line of English, printed in .env.example. */
  meaning: string
  /** The value of an absent variable. */
  default?: string
  /** Without a default: the effect of absence. */
  absent?: string
  /** The value is never shown, not even in an error. */
  secret?: true
  /** The value in .env.example if there is no default. */
  shown?: string
  /** An empty value is refused and does not count as absent. */
  neverEmpty?: true
  /** Returns the value of the variable, or throws. */
  read(given: string): unknown
}

const define = <const T extends Record<string, Setting>>(variables: T): T => variables

export const variables = define({
  DATABASE_URL: {
    meaning: 'PostgreSQL 14 or newer, such as postgres://user:password@host:5432/database',
    absent: 'an embedded PostgreSQL under RETOMA_DATA_DIR, as with the word embedded',
    secret: true,
    shown: 'embedded',
    neverEmpty: true,
    read: postgresUrl,
  },
  DATABASE_DIRECT_URL: {
    meaning: 'The same database without PgBouncer in between, for LISTEN',
    absent: 'DATABASE_URL; behind PgBouncer in transaction mode hints then fall back to polling',
    secret: true,
    read: postgresUrl,
  },
  RETOMA_SCHEMA: {
    meaning: 'Schema of the tables of Retoma; engines with different schemas do not see each other',
    default: 'retoma',
    read: schemaName,
  },
  RETOMA_CONNECTIONS: {
    meaning: 'Connections of a process to the database at most, and as many again for transactions of handlers',
    default: '10',
    read: wholeNumber(1, 1000),
  },
  RETOMA_DATA_DIR: {
    meaning: 'Folder of the embedded PostgreSQL',
    default: '.retoma',
    read: text,
  },
  HOST: {
    meaning: 'Address to listen on; another than loopback needs a token, such as RETOMA_ADMIN_TOKEN',
    default: '127.0.0.1',
    read: host,
  },
  PORT: { meaning: 'Port to listen on; 0 takes any free one', default: '3000', read: wholeNumber(0, 65_535) },
  PUBLIC_URL: {
    meaning:
      'Where people reach this server: for links in messages, and an address that browsers may send requests from',
    absent: 'http://HOST:PORT',
    read: webUrl,
  },
  TRUST_PROXY: {
    meaning: 'How many proxies stand in front, whose X-Forwarded-* headers are believed (true is 1)',
    default: '0',
    read: proxies,
  },
  RETOMA_ADMIN_TOKEN: {
    meaning: 'The first admin token, at least 16 characters; stored hashed',
    absent: 'open on loopback until a token is made',
    secret: true,
    read: adminToken,
  },
  CRON_SECRET: {
    meaning: 'Opens the cron routes to an outside scheduler; at least 16 characters',
    absent: 'those routes answer 503',
    secret: true,
    read: chosenSecret,
  },
  RETOMA_FETCH_ALLOW: {
    meaning: 'host:port list of private addresses that systems may fetch from, such as localhost:8080',
    absent: 'no private address is fetched from',
    read: hostsAndPorts,
  },
  RETOMA_NOTIFY_URL: {
    meaning: 'Webhook that tells a person when something is stuck',
    absent: 'no notices are sent',
    secret: true,
    read: webUrl,
  },
  RETOMA_NOTIFY_SECRET: {
    meaning: 'Signs what is sent there (HMAC-SHA256)',
    absent: 'sent unsigned',
    secret: true,
    read: text,
  },
  RETOMA_NOTIFY_LANGUAGE: {
    meaning: 'The language of notices: en or pt',
    default: 'en',
    read: oneOf('en', 'pt'),
  },
  UPSTASH_REDIS_REST_URL: {
    meaning: 'Rate limits in Upstash Redis; goes with UPSTASH_REDIS_REST_TOKEN',
    absent: 'rate limits in PostgreSQL',
    secret: true,
    read: webUrl,
  },
  UPSTASH_REDIS_REST_TOKEN: {
    meaning: 'Token for it; goes with UPSTASH_REDIS_REST_URL',
    absent: 'rate limits in PostgreSQL',
    secret: true,
    read: text,
  },
  RETOMA_WORKER_MEMORY: {
    meaning:
      'Most memory of a worker process, in MB; above it the job that takes it is named and the process starts anew',
    absent: "three quarters of the container's memory, or of the machine's",
    read: wholeNumber(64, 100_000_000),
  },
  RETOMA_LIMITS: {
    meaning: 'off: no rate limits, for development on loopback only',
    absent: 'rate limits hold',
    read: oneOf('off'),
  },
  RETOMA_SUPERVISE: {
    meaning: 'off: `worker` and `up` are one process, which nobody starts again when it dies',
    absent: 'a small parent process starts it again',
    read: oneOf('off'),
  },
  RETOMA_PROCESSES: {
    meaning: 'How many worker processes `worker` and `up` start, 1 to 256, or auto: one for each core',
    default: '1',
    read: processCount,
  },
  RETENTION_DAYS: {
    meaning: 'Days that finished work and its files are kept',
    default: '90',
    read: wholeNumber(1, 36_500),
  },
  RETOMA_JOB_LOGS: {
    meaning: 'off: workers do not keep the lines that handlers write with ctx.log',
    absent: 'the last 200 lines of an attempt are kept with the job',
    read: oneOf('off'),
  },
  LOG_LEVEL: {
    meaning: 'debug, info, warn, error or silent',
    default: 'info',
    read: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  LOG_FORMAT: {
    meaning: 'pretty or json',
    absent: 'pretty on a terminal, json otherwise',
    read: oneOf('pretty', 'json'),
  },
})

export type VariableName = keyof typeof variables

/** Every checked setting by the name of its variable. */
export type Settings = {
  readonly [Name in VariableName]:
    | ReturnType<(typeof variables)[Name]['read']>
    | ((typeof variables)[Name] extends { default: string } ? never : undefined)
}
