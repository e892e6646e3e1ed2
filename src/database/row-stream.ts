/**
 * Streams the rows of a statement, for tables of any size. The socket is paused while the reader is behind, so memory
 * holds about a batch of rows and the row that overflowed it, for rows of any size; PostgreSQL waits meanwhile.
 *
 * Invariant: a connection that sends nothing for `silenceMs` while the reader waits is given up.
 */
import pg from 'pg'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { socketOf } from './socket.ts'

const batchCharacters = 1_000_000
const silenceMs = 120_000

/** Yields the column `text` of every row. A reader that stops before the end must end the connection. */
export async function* streamTexts(client: pg.Client, text: string): AsyncGenerator<string[]> {
  const socket = socketOf(client)
  let batch: string[] = []
  let size = 0
  let over = false
  let failure: Error | undefined
  let wake = () => {}

  const query = client.query(new pg.Query<{ text: string }>({ text }))
  const end = (error?: Error) => {
    failure = error
    over = true
    wake()
  }
  query.on('row', row => {
    batch.push(row.text)
    size += row.text.length
    if (size >= batchCharacters) socket.pause()
    wake()
  })
  query.on('error', end)
  query.on('end', () => end())

  for (;;) {
    if (batch.length === 0 && !over) {
      const news = new Promise<void>(resolve => {
        wake = resolve
      })
      await withDeadline(news, silenceMs, () => databaseTimeout(silenceMs, false))
    }
    const ready = batch
    batch = []
    size = 0
    if (ready.length > 0) yield ready
    else if (failure !== undefined) throw failure
    else if (over) return
    socket.resume()
  }
}
