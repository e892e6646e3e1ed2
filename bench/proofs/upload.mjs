/**
 * Files over HTTP into PostgreSQL: a request with 2,000 files of 5 MB, ten gigabytes, and then four requests at once. The
 * stored files equal the sent files, and the API process stays small. Client, server and PostgreSQL share this machine.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { startHelper } from '../lib/helper.mjs'
import { watchRss } from '../lib/rss.mjs'

export const title = '2,000 files of 5 MB in one request'

const mb = 1024 * 1024
const fileBytes = 5 * mb
const boundary = 'proof-of-upload'

export async function prove({ room, scale, say, hold, atMost }) {
  const files = Math.round(2000 * scale)
  const server = await room.server()
  const database = await server.database()
  const { pid, port } = await startApi(room, { url: database.url, largestFile: fileBytes, mostFiles: files })
  const mostRss = watchRss(pid)

  const one = await timed(database, () => send(port, files))
  say(figures('one request', files, one))
  const [{ n, bytes }] = await database.sql(
    'select count(*)::int as n, coalesce(sum(size), 0)::bigint as bytes from retoma.file where job_id is not null',
  )
  hold(`${n} files of ${bytes} bytes are kept`, n === files && Number(bytes) === files * fileBytes)
  hold(
    'what was said of each is its hash',
    one.answer.every(each => each.isRight),
  )

  const each = Math.max(1, Math.round(files / 20))
  const four = await timed(database, async () => (await Promise.all([0, 1, 2, 3].map(() => send(port, each)))).flat())
  say(figures('four requests at once', each * 4, four))

  const began = performance.now()
  let same = 0
  const some = one.answer.slice(0, Math.min(20, files))
  for (const { id, sha256 } of some) if ((await hashAt(port, id)) === sha256) same++
  say(`out: ${rate(some.length, performance.now() - began)}`)
  hold(`${same} of ${some.length} came out as they went in`, same === some.length)

  const [{ whole }] = await database.sql('select pg_database_size(current_database()) as whole')
  say(
    `the database has ${Math.round(Number(whole) / mb)} MB for ${Math.round(((files + each * 4) * fileBytes) / mb)} MB of files`,
  )
  atMost('memory of the API, at its most', mostRss() / mb, 200, ' MB')
}

const rate = (files, ms) => `${((files * fileBytes) / mb / (ms / 1000)).toFixed(0)} MB/s`

const figures = (what, files, { ms, wal }) =>
  `${what}: ${files} files in ${(ms / 1000).toFixed(1)} s, ${rate(files, ms)}; ${(wal / (files * fileBytes)).toFixed(2)} bytes of WAL for each`

async function timed({ sql }, work) {
  const [{ at }] = await sql('select pg_current_wal_lsn() as at')
  const began = performance.now()
  const answer = await work()
  const ms = performance.now() - began
  const [{ wal }] = await sql('select pg_wal_lsn_diff(pg_current_wal_lsn(), $1) as wal', [at])
  return { answer, ms, wal: Number(wal) }
}

/** Bytes that do not compress, each file its own. */
const noise = randomBytes(fileBytes)

function bytesOf(n) {
  const stamp = Buffer.from(`file ${n} `)
  return [stamp, noise.subarray(stamp.length)]
}

function headOf(n) {
  const name = `documento ${n}.pdf`
  return Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/pdf\r\n\r\n`,
  )
}

/** Returns the server's answer for each file, and whether the hash is right. */
async function send(port, files) {
  const end = Buffer.from(`--${boundary}--\r\n`)
  let length = end.length
  for (let n = 0; n < files; n++) length += headOf(n).length + fileBytes + 2
  const post = request({
    host: '127.0.0.1',
    port,
    path: '/files',
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': length },
  })
  const answered = once(post, 'response')
  answered.catch(() => {})
  const write = async piece => post.write(piece) || once(post, 'drain')
  for (let n = 0; n < files; n++) {
    await write(headOf(n))
    for (const piece of bytesOf(n))
      for (let from = 0; from < piece.length; from += mb) await write(piece.subarray(from, from + mb))
    await write('\r\n')
  }
  post.end(end)
  const [response] = await answered
  const text = await textOf(response)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text}`)
  return JSON.parse(text).files.map((file, n) => {
    const hash = createHash('sha256')
    for (const piece of bytesOf(n)) hash.update(piece)
    return { ...file, isRight: hash.digest('hex') === file.sha256 }
  })
}

async function textOf(response) {
  let text = ''
  for await (const part of response) text += part
  return text
}

async function hashAt(port, id) {
  const response = await fetch(`http://127.0.0.1:${port}/files/${id}`)
  const hash = createHash('sha256')
  for await (const part of response.body) hash.update(part)
  return hash.digest('hex')
}

async function startApi(room, task) {
  let heard
  const listening = new Promise(resolve => {
    heard = resolve
  })
  const { pid } = startHelper(room, 'upload-server', task, message => heard(message.port))
  return { pid, port: await listening }
}
