/** Connections over TLS to a real server: of the pool, for LISTEN, and of the heartbeat thread. */
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createEngine, defineJob, type Engine, type EngineOptions } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { until } from '../support/engine.ts'
import { pem, type TlsServer, tlsServer } from '../support/tls-server.ts'

let server: TlsServer
beforeAll(async () => {
  server = await tlsServer()
})
afterAll(() => server?.stop())

const double = defineJob({ kind: 'double', run: (_, n: number) => n * 2 })

const placeOf = (database: 'open' | 'certified') => ({ host: '127.0.0.1', port: server.port, user: 'retoma', database })

/** A new object for each engine, because pg hides the key in a given object. */
const certified = () => ({ ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') })

async function engineOn(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({ log: silentLog, jobs: [double], ...options })
  onTestFinished(() => engine.close())
  return engine
}

interface Session {
  name: string
  query: string
  ssl: boolean
  client: string | null
}

/** Resolves with the sessions of the database, one for LISTEN and one of the heartbeat thread among them. */
async function sessionsOf(engine: Engine): Promise<Session[]> {
  const worker = await engine.work()
  const { id } = await engine.enqueue(double, 21)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 42 })
  let sessions: Session[] = []
  await until(async () => {
    const { rows } = await engine.query(
      `select a.application_name as name, a.query, s.ssl, s.client_dn as client
      from pg_stat_activity a join pg_stat_ssl s using (pid) where a.datname = current_database()`,
    )
    sessions = rows as unknown as Session[]
    return (
      sessions.some(({ name }) => name === `retoma ${worker.id}`) &&
      sessions.some(({ query }) => /^listen /i.test(query))
    )
  })
  return sessions
}

// Together, because a heartbeat thread opens its connection two seconds after the start of a worker.
test('every connection is encrypted and has the certificate of the client, of the heartbeat thread and with a pool of the user too', async () => {
  const bytes = Object.fromEntries(Object.entries(certified()).map(([name, text]) => [name, Buffer.from(text)]))
  const pool = new pg.Pool({ ...placeOf('certified'), ssl: certified(), max: 4 })
  onTestFinished(() => pool.end())
  const all = await Promise.all(
    [
      { connection: { ...placeOf('open'), ssl: { ca: pem('ca.pem') } } },
      { connection: { ...placeOf('certified'), ssl: certified() } },
      { connection: { ...placeOf('certified'), ssl: bytes } },
      { pool },
    ].map(async options => sessionsOf(await engineOn(options))),
  )
  const [plain, ...ofClients] = all
  for (const session of plain!) expect(session).toMatchObject({ ssl: true, client: null })
  for (const session of ofClients.flat()) expect(session).toMatchObject({ ssl: true, client: '/CN=client' })
})

test.each<[string, object, 'open' | 'certified', RegExp]>([
  ['an unknown authority', {}, 'open', /certificate/],
  ['another name of the server', { ca: true, servername: 'db.example.com' }, 'open', /does not match certificate/],
  ['a missing certificate of the client', { ca: true }, 'certified', /certificate/],
])('%s is refused with the address', async (_, ssl, database, words) => {
  const given = 'ca' in ssl ? { ...ssl, ca: pem('ca.pem') } : ssl
  const error = await createEngine({ connection: { ...placeOf(database), ssl: given }, log: false }).catch(
    (thrown: Error) => thrown,
  )
  expect(String(error)).toMatch(words)
  expect(String(error)).toContain(`127.0.0.1:${server.port}/${database}`)
})
