/**
 * A proxy between workers and PostgreSQL which loses answers: for some client messages the proxy waits until the
 * server has answered in full (so the statement is committed), drops the answer and cuts the connection.
 */
import { mkdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

/**
 * Starts a proxy which cuts a `share` of the client messages. Returns the `url` for clients, the `counts`, `begin`
 * and `close`.
 */
export async function startProxy({ room, url, share, random }) {
  const folder = join(room, 'p')
  mkdirSync(folder, { mode: 0o700 })
  const target = new URL(url)
  const upstream = join(target.searchParams.get('host'), `.s.PGSQL.${target.port || 5432}`)
  const counts = { messages: 0, cuts: 0, flushes: 0, flushCuts: 0, claimCuts: 0 }
  const sockets = new Set()
  let cutting = false

  const server = createServer(client => {
    const database = connect(upstream)
    const pair = [client, database]
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const each of pair) each.destroy()
      })
    }
    let ready = false
    let doomed = false
    let waiting = false
    const readies = readyForQuery()
    client.on('data', chunk => {
      // Data before the answer belongs to the same message.
      if (ready && !waiting) {
        waiting = true
        counts.messages++
        const flush = chunk.includes('\0settle\0')
        if (flush) counts.flushes++
        if (cutting && random.next() < share) {
          doomed = true
          counts.cuts++
          if (flush) counts.flushCuts++
          if (chunk.includes('\0claim\0')) counts.claimCuts++
        }
      }
      database.write(chunk)
    })
    database.on('data', chunk => {
      const answered = readies(chunk)
      if (!doomed) client.write(chunk)
      else if (answered) for (const each of pair) each.destroy()
      if (answered) {
        ready = true
        waiting = false
      }
    })
  })
  await new Promise(resolve => server.listen(join(folder, `.s.PGSQL.${target.port || 5432}`), resolve))
  const through = new URL(url)
  through.searchParams.set('host', folder)
  return {
    url: through.href,
    counts,
    begin() {
      cutting = true
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Returns a function which reads the data of the server and returns true when the data completes a ReadyForQuery. */
function readyForQuery() {
  let left = Buffer.alloc(0)
  return chunk => {
    left = Buffer.concat([left, chunk])
    let seen = false
    while (left.length >= 5) {
      const size = 1 + left.readInt32BE(1)
      if (left.length < size) break
      if (left[0] === 0x5a) seen = true
      left = left.subarray(size)
    }
    return seen
  }
}
