/**
 * Creates an empty database for a test, on a temporary server of the process: no real data is touched, and parallel tests do not share
 * anything.
 */
import pg from 'pg'
import { randomName } from '../lib/random.ts'
import { startTestServer, type TestServer } from './test-server.ts'

/** The answer of `createTestDatabase`. */
export interface TestDatabase {
  readonly url: string
  /** Drops the database. */
  drop(): Promise<void>
}

let shared: Promise<TestServer> | undefined

/** A single server for this process; the server ends with the process, however the process ends. */
async function sharedServer(): Promise<string> {
  shared ??= startTestServer()
  return (await shared).url
}

/** `serverUrl`: a PostgreSQL server that allows creating and dropping databases; default: a temporary server. */
export async function createTestDatabase(serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await sharedServer())
  const name = randomName('retoma_test').replace('-', '_')
  await admin(server, `create database ${name}`)
  return {
    url: withDatabase(server, name),
    drop: () => admin(server, `drop database if exists ${name} with (force)`),
  }
}

async function admin(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}
