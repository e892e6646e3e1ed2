/**
 * A PostgreSQL server that speaks TLS on loopback, of the embedded PostgreSQL's own programs. The certificates of test/database/tls are
 * files, because Node cannot create a certificate; they are valid from 2020 to 2120, and the key of their authority is not kept.
 */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { makeData } from '../../src/embedded-postgres/init-data-dir.ts'
import { startServerCleanup } from '../../src/testing/test-server-cleanup.ts'
import { type LaunchedServer, launchServer, newDataDir, writeForServer } from './launched-server.ts'

/** The certificate or key of this name. */
export const pem = (name: 'ca.pem' | 'server.pem' | 'server.key' | 'client.pem' | 'client.key'): string =>
  readFileSync(new URL(`../database/tls/${name}`, import.meta.url), 'utf8')

const hba = `
local all all trust
hostssl open all 127.0.0.1/32 trust
hostssl certified all 127.0.0.1/32 trust clientcert=verify-ca
`

export interface TlsServer {
  readonly port: number
  /** Resolves when the server is gone. */
  stop(): Promise<void>
}

/** Databases: `open` requires TLS, `certified` also a certificate of the client. */
export async function tlsServer(): Promise<TlsServer> {
  const cleanup = startServerCleanup()
  try {
    const dataDir = await newDataDir('tls', cleanup)
    await makeData(dataDir, { sync: false })
    for (const name of ['ca.pem', 'server.pem', 'server.key'] as const) await writeForServer(dataDir, name, pem(name))
    await writeForServer(dataDir, 'pg_hba.conf', hba)
    const { port, sql } = await onFreePort(port =>
      launchServer(dataDir, {
        listen_addresses: '127.0.0.1',
        port: String(port),
        ssl: 'on',
        ssl_ca_file: 'ca.pem',
        ssl_cert_file: 'server.pem',
        ssl_key_file: 'server.key',
      }),
    )
    for (const database of ['open', 'certified']) await sql(`create database ${database}`, 'postgres')
    return { port, stop: () => cleanup.end() }
  } catch (error) {
    await cleanup.end()
    throw error
  }
}

/** PostgreSQL cannot choose a free port, and another program may take a free port before PostgreSQL does. */
async function onFreePort(
  launch: (port: number) => Promise<LaunchedServer>,
): Promise<LaunchedServer & { port: number }> {
  for (let left = 5; ; left--) {
    const port = await freePort()
    try {
      return { port, ...(await launch(port)) }
    } catch (error) {
      if (left === 0 || !String(error).includes('Address already in use')) throw error
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
