/** A link that goes dead keeps nobody waiting, and what hung on it is not used again. */
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../src/lib/log.ts'
import { openDb } from '../../src/store/db.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

/** A way to the server that can fall silent without closing. */
async function silenceable(url: string): Promise<{ url: string; open: Set<Socket>; fallSilent(): void }> {
  const { searchParams, port } = new URL(url)
  const open = new Set<Socket>()
  let silent = false
  const server = createServer(near => {
    const far = createConnection(join(searchParams.get('host')!, `.s.PGSQL.${port}`))
    open.add(near)
    near.on('close', () => void open.delete(near))
    near.on('data', chunk => silent || far.write(chunk))
    far.on('data', chunk => silent || near.write(chunk))
    for (const [one, other] of [[near, far], [far, near]] as const) // biome-ignore format: both ways
      one.on('error', () => {}).on('close', () => other.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const through = new URL(url)
  through.searchParams.delete('host')
  through.host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    url: through.href,
    open,
    fallSilent: () => {
      silent = true
    },
  }
}

const ask = { name: 'ask', text: 'select 1 as answer' }

test('a query without an answer is given up at its deadline, and its connection with it', async () => {
  const way = await silenceable(store.url)
  const db = openDb({ url: way.url, connections: 1, log: silentLog })
  onTestFinished(() => db.close())
  await db.run(ask, [])
  const [socket] = way.open
  const closed = new Promise(resolve => socket!.once('close', resolve))
  way.fallSilent()
  await expect(db.run(ask, [], 100)).rejects.toMatchObject({ code: 'database_timeout' })
  await closed
  expect(way.open.size).toBe(0)
})
