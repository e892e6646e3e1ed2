/** Connections that the user brings: a pool of pg, a configuration of pg, tokens by function, a socket of a connector. */
import { connect, createServer, Socket } from 'node:net'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEngine, defineJob, type Engine, type EngineOptions } from '../../src/index.ts'
import { createLog, silentLog } from '../../src/lib/logging/log.ts'
import { shareDatabase, until } from '../support/engine.ts'

const double = defineJob<number>({
  kind: 'double',
  run: async (ctx, n) =>
    ctx.transaction('save', async tx => (await tx.query<{ n: number }>('select $1::int * 2 as n', [n])).rows[0]!.n),
})

async function engineOn(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({ log: silentLog, jobs: [double], ...options })
  onTestFinished(() => engine.close())
  return engine
}

function poolOf(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4, ...options })
  onTestFinished(() => pool.end())
  return pool
}

/** The session in which the heartbeat thread of the worker writes. */
const beats = async (engine: Engine, worker: string) => {
  const { rows } = await engine.query('select from pg_stat_activity where application_name = $1', [`retoma ${worker}`])
  return rows.length === 1
}

describe('a pool of the user', () => {
  test('serves everything, and is left as it was: open, without settings, statements, LISTEN or listeners', async () => {
    const url = await shareDatabase()
    const pool = poolOf(url)
    const listeners = pool.listenerCount('error')
    const { rows: before } = await pool.query(
      `select json_agg(name) as fresh from pg_settings where source = 'session'`,
    )
    const { fresh } = before[0]
    const engine = await createEngine({ pool, jobs: [double], log: silentLog })
    const worker = await engine.work()
    const jobs = await engine.enqueueMany(double, [1, 2, 3, 4, 5, 6, 7, 8])
    for (const id of jobs.ids) expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    expect(await engine.job(jobs.ids[7]!)).toMatchObject({ result: 16 })
    await until(() => beats(engine, worker.id))
    await engine.close()
    expect({ ended: pool.ended, total: pool.totalCount <= 4 }).toEqual({ ended: false, total: true })
    expect(pool.listenerCount('error')).toBe(listeners)
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
    onTestFinished(() => clients.forEach(client => void client.release()))
    for (const client of clients) {
      const { rows } = await client.query(`
        select (select json_agg(name) from pg_settings where source = 'session') as settings,
          (select count(*)::int from pg_prepared_statements) as prepared,
          (select count(*)::int from pg_listening_channels()) as channels`)
      expect(rows).toEqual([{ settings: fresh, prepared: 0, channels: 0 }])
    }
  })

  test('may parse values in its own way', async () => {
    const types = { getTypeParser: () => (value: string) => `own ${value}` } as unknown as pg.CustomTypesConfig
    const engine = await engineOn({ pool: poolOf(await shareDatabase(), { types }) })
    const { id } = await engine.enqueue(double, 21)
    await engine.runUntilEmpty()
    const job = await engine.job(id)
    expect(job).toMatchObject({ state: 'succeeded', attempt: 1, createdAt: expect.any(Date) })
    expect((await engine.query('select 1 as n')).rows).toEqual([{ n: 'own 1' }])
  })

  test('goes with a transaction of its own client', async () => {
    const pool = poolOf(await shareDatabase())
    const engine = await engineOn({ pool })
    const client = await pool.connect()
    await client.query('begin')
    await engine.enqueue(double, 1, { tx: client })
    await client.query('commit')
    client.release()
    expect(await engine.runUntilEmpty()).toMatchObject({ succeeded: 1 })
  })

  test('of two connections is enough for handlers that enqueue from within a transaction', async () => {
    const pool = poolOf(await shareDatabase(), { max: 2 })
    const more = defineJob<number>({
      kind: 'more',
      run: ctx =>
        ctx.transaction('t', async tx => {
          await tx.query('select 1')
          await engine.enqueue(double, 1)
          return 1
        }),
    })
    const engine = await engineOn({ pool, jobs: [more, double] })
    await engine.enqueueMany(more, [1, 2, 3, 4, 5])
    expect(await engine.runUntilEmpty()).toMatchObject({ succeeded: 10 })
  })
})

/** A server in front of PostgreSQL that lets in whoever has the password of the moment. */
async function withPassword(url: string, isRight: (password: string) => boolean): Promise<number> {
  const { host, port } = placeOf(url)
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    sockets.add(client)
    client.on('error', () => {})
    client.once('data', startup => {
      client.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
      client.once('data', message => {
        if (!isRight(message.subarray(5, -1).toString())) return void client.destroy()
        const place = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
        const real = connect(place, () => {
          real.write(startup)
          client.pipe(real).pipe(client)
        })
        real.on('error', () => {})
        sockets.add(real)
      })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as { port: number }).port
}

const placeOf = (url: string) => {
  const { host, port, database, user } = new pg.Client({ connectionString: url })
  return { host, port, database: database!, user: user! }
}

describe('a configuration of pg', () => {
  test('asks its function for the password of each new connection, of the heartbeat thread too', async () => {
    const url = await shareDatabase()
    const given = new Set<string>()
    const used: string[] = []
    const port = await withPassword(url, password => {
      used.push(password)
      return given.delete(password)
    })
    const password = async () => {
      const token = `token ${used.length} ${given.size} ${Math.random()}`
      given.add(token)
      return token
    }
    const engine = await engineOn({ connection: { ...placeOf(url), host: '127.0.0.1', port, password } })
    const worker = await engine.work()
    const { id } = await engine.enqueue(double, 2)
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    await until(() => beats(engine, worker.id))
    expect(new Set(used).size).toBe(used.length)
  })

  test('with a socket of its own works, and its main loop writes the heartbeats', async () => {
    const url = await shareDatabase()
    const lines: string[] = []
    const log = createLog({ level: 'info', format: 'pretty', colour: false, write: line => lines.push(line) })
    let sockets = 0
    const stream = () => {
      sockets++
      return new Socket()
    }
    const engine = await engineOn({ connection: { ...placeOf(url), stream }, log })
    await using worker = await engine.work()
    const { id } = await engine.enqueue(double, 2)
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    expect(sockets).toBeGreaterThan(1)
    expect(lines.join('')).toContain('the main loop of this worker writes the heartbeats')
    expect(await engine.workers.list()).toMatchObject([{ id: worker.id, dead: false }])
  })

  test('carries TLS: a server without TLS is refused, with its address and without the password', async () => {
    const server = createServer(client => client.on('error', () => {}).once('data', () => client.end('N')))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const place = { host: '127.0.0.1', port, database: 'app' }
    const connection = { ...place, password: 'geheim', ssl: { rejectUnauthorized: true } }
    const error = await createEngine({ connection, log: false }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code: 'database_unreachable' })
    expect(String(error)).toContain(`127.0.0.1:${port}/app`)
    expect(String(error)).toContain('SSL')
    expect(String(error)).not.toContain('geheim')
  })
})

describe('refused', () => {
  const url = 'postgres://127.0.0.1:1/app'
  const pool = new pg.Pool({ max: 2 })
  test.each<[string, object, string]>([
    ['databaseUrl and pool', { databaseUrl: url, pool }, 'pool'],
    ['databaseUrl and connection', { databaseUrl: url, connection: { host: 'h' } }, 'connection'],
    ['connection and pool', { connection: { host: 'h' }, pool }, 'pool'],
    ['pool and connections', { pool, connections: 3 }, 'connections'],
    ['a pool of one', { pool: new pg.Pool({ max: 1 }) }, 'pool'],
    ['a client as pool', { pool: new pg.Client() }, 'pool'],
    ['a text as pool', { pool: url }, 'pool'],
    ['a pool as connection', { connection: pool }, 'connection'],
    ['a text as connection', { connection: url }, 'connection'],
    ['an empty connection', { connection: {} }, 'connection'],
    ['a number as password', { connection: { host: 'h', password: 5 } }, 'connection.password'],
    ['a bad connection string', { connection: { connectionString: 'h' } }, 'connection.connectionString'],
  ])('%s', async (_, options, option) => {
    await expect(createEngine(options)).rejects.toMatchObject({ code: 'bad_option', facts: { option } })
  })
})
