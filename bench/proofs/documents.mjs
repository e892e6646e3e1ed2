/**
 * The documents as they are deployed: `retoma serve`, a worker for PDFs and a worker for syncs, each a process of its own. 500 users read
 * their lists, first alone and then while PDFs and syncs run. Then a hundred hostile PDFs, with the memory of all processes of the worker.
 * Then the times of the answers about documents, syncs and bank connections of another user, beside those that do not exist.
 */
import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJiti } from 'jiti'
import { round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { startProgram } from '../lib/program.mjs'
import { pssOf } from '../lib/pss.mjs'
import { until } from '../lib/until.mjs'

export const title =
  '500 readers beside 20 syncs and 10 PDFs: no request fails, p95 at most 3 times the idle value; 100 hostile PDFs end, and the memory stays bounded; the time of a 404 does not tell whether a document, a sync or a bank connection exists'

const jiti = createJiti(import.meta.url)
const { goodPdf } = await jiti.import('../../apps/classifier/test/pdfs.ts')
const { hundredHostile, oddPdfs } = await jiti.import('../../apps/documents/test/hostile.ts')

const atOnce = 4
/** Each child of the worker may use 512 MB; the worker itself needs less than 300 MB. */
const mostMegabytes = atOnce * 512 + 300

export async function prove(given) {
  const server = await given.room.server()
  await besideWork({ ...given, database: await server.database() })
  await hostile({ ...given, database: await server.database() })
  await timesOf404({ ...given, database: await server.database() })
}

async function besideWork({ room, scale, say, hold, atMost, database }) {
  const readers = Math.round(500 * scale)
  const { ask, port, start } = await open(room, database)
  await database.sql(documentsOf(readers))
  start(['worker', '--queues', `documents:${atOnce}`])
  start(['worker', '--queues', 'sync:10'])
  await until(async () => (await database.sql(`select from retoma.worker where dead_at is null`)).length === 2, {
    seconds: 120,
    what: 'two workers',
  })
  const read = async work => {
    const helper = startHelper(room, 'readers', { port, readers, everyMs: 2000, path: '/api/documents' })
    // The first request of every reader, which is not counted.
    await sleep(2500)
    await work()
    return helper.stop()
  }
  await read(() => sleep(5000))
  const idle = await read(() => sleep(20_000))
  const pdfs = Array.from({ length: 10 }, (_, n) => bookOf(n))
  let seconds = 0
  const busy = await read(async () => {
    const began = performance.now()
    const uploads = pdfs.map((bytes, n) => {
      const form = new FormData()
      form.set('file', new File([bytes], `livro-${n}.pdf`))
      return ask('/api/documents', `user${n}`, form)
    })
    const syncs = Array.from({ length: 20 }, (_, n) => ask('/api/open-finance/sync', `user${n}`, '{}'))
    await Promise.all([...uploads, ...syncs])
    await until(async () => (await openWork(database)) === 0, { everyMs: 200, seconds: 1200 })
    seconds = (performance.now() - began) / 1000
  })
  const [ended] = await database.sql(
    `select count(*) filter (where status = 'DONE' and job_id > 0)::int as done from documents.documents`,
  )
  const [took] = await database.sql(
    `select min(s) as least, max(s) as most from (
       select extract(epoch from finished_at - started_at)::float8 as s from retoma.job where kind = 'process-document') t`,
  )
  const [synced] = await database.sql(
    `select count(*)::int as n from retoma.job where queue = 'sync' and state = 'succeeded' and kind not like '%tidy%'`,
  )
  const figures = ({ requests, p50, p95, p99 }) =>
    `${requests} requests, p50 ${round(p50, 1)} ms, p95 ${round(p95, 1)} ms, p99 ${round(p99, 1)} ms`
  say(`${readers} readers alone: ${figures(idle)}`)
  say(`beside 10 PDFs and 20 syncs (${round(seconds)} s): ${figures(busy)}`)
  say(`each PDF took ${round(took.least, 1)} to ${round(took.most, 1)} s, ${atOnce} at a time`)
  hold(`PDFs that are DONE: ${ended.done}`, ended.done === 10)
  hold(`syncs that succeeded: ${synced.n}`, synced.n >= 20)
  const failed = [idle, busy].flatMap(({ statuses }) => Object.keys(statuses)).filter(status => status !== '200')
  hold(`answers other than 200: ${JSON.stringify([idle.statuses, busy.statuses])}`, failed.length === 0)
  atMost('p95 beside the work, over p95 alone', busy.p95 / idle.p95, 3)
}

async function hostile({ room, scale, say, hold, atMost, database }) {
  const { ask, start } = await open(room, database)
  const worker = start(['worker', '--queues', `documents:${atOnce}`])
  // Scripts, attachments and 5,000 pages count as well, at any scale.
  const all = [...hundredHostile().slice(0, Math.round(100 * scale)), ...oddPdfs()]
  let refused = 0
  for (const { name, bytes } of all) {
    const form = new FormData()
    form.set('file', new File([bytes], name))
    const { status } = await ask('/api/documents', 'ana', form, [202, 415])
    if (status === 415) refused++
  }
  const began = performance.now()
  let most = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      const bytes = memoryOf(worker.pid)
      most = Math.max(most, bytes / 1024 / 1024)
      await sleep(200)
    }
  })()
  await until(async () => (await openWork(database)) === 0, { everyMs: 500, seconds: 3600 })
  isOver = true
  await watch
  const rows = await database.sql(`select status, error_message as message from documents.documents`)
  const done = rows.filter(({ status }) => status === 'DONE').length
  const failed = rows.filter(({ status, message }) => status === 'FAILED' && message)
  say(
    `${all.length} hostile PDFs in ${round((performance.now() - began) / 1000)} s: ${refused} refused at the upload, ${failed.length} FAILED, ${done} DONE`,
  )
  hold(`each ended with a reason or with its pages`, refused + done + failed.length === all.length)
  const timedOut = failed.filter(({ message }) => message === 'Processing timeout (watchdog)')
  hold(`marked by the watchdog: ${timedOut.length}`, timedOut.length === 0)
  const lives = await database.sql(`select id from retoma.worker`)
  hold(`lives of the worker: ${lives.length}`, lives.length === 1)
  atMost('memory of the worker and its children at any moment', most, mostMegabytes, ' MB')
}

/** Each with the id of a document, a sync or a bank connection that the user does not have. */
const askedAbout = [
  ['documents', 'GET', id => `/api/documents/${id}`],
  ['documents', 'GET', id => `/api/documents/${id}/text`],
  ['documents', 'GET', id => `/api/documents/${id}/download`],
  ['documents', 'GET', id => `/api/documents/${id}/thumbnail`],
  ['documents', 'POST', id => `/api/documents/${id}/reprocess`],
  ['documents', 'DELETE', id => `/api/documents/${id}`],
  ['bank_sync', 'GET', id => `/api/open-finance/syncs/${id}`],
  ['bank_item', 'DELETE', id => `/api/open-finance/items/${id}`],
]

/**
 * Requests about a row of another user and about no row, one after the other in random order on one connection. If the times differ, they
 * tell whether the row exists.
 */
async function timesOf404({ room, scale, say, hold, atMost, database }) {
  const users = 20
  const { ask: post, port } = await open(room, database)
  await database.sql(documentsOf(users))
  await database.sql(itemsOf(users))
  for (let n = 1; n < users; n++) await post('/api/open-finance/sync', `user${n}`, '{}')
  const theirs = {}
  for (const table of new Set(askedAbout.map(([table]) => table)))
    theirs[table] = (await database.sql(`select id from documents.${table} where user_id <> 'user0'`)).map(
      ({ id }) => id,
    )
  const ask = await onOneConnection(room, port)
  const pairs = Math.round(2000 * scale)
  const wrong = []
  let worst = { distance: 0 }
  for (const [table, method, pathOf] of askedAbout) {
    const times = { theirs: [], none: [] }
    const once = async (which, id) => {
      const began = performance.now()
      const status = await ask(method, pathOf(id), 'user0')
      times[which].push(performance.now() - began)
      if (status !== '404') wrong.push(`${method} ${pathOf(id)}: ${status}`)
    }
    for (let n = 0; n < 100; n++) await once('none', crypto.randomUUID())
    times.none = []
    for (let n = 0; n < pairs; n++) {
      const both = [
        ['theirs', theirs[table][Math.floor(Math.random() * theirs[table].length)]],
        ['none', crypto.randomUUID()],
      ]
      for (const [which, id] of Math.random() < 0.5 ? both : both.reverse()) await once(which, id)
    }
    const distance = distanceOf(times.theirs, times.none)
    if (distance >= worst.distance) worst = { method, path: pathOf('{id}'), distance, times }
  }
  const median = all => round(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)], 3)
  say(
    `${pairs} pairs for each of ${askedAbout.length} routes; the largest distance of the two distributions: ${worst.method} ${worst.path}, ` +
      `medians ${median(worst.times.theirs)} ms (of another user) and ${median(worst.times.none)} ms (of nobody)`,
  )
  hold(`answers other than 404: ${wrong.length}`, wrong.length === 0)
  // Two samples of one distribution are further apart in one of a thousand proofs.
  atMost('distance (Kolmogorov-Smirnov) of the times', worst.distance, Math.max(1.95 * Math.sqrt(2 / pairs), 0.1))
}

/** The largest difference of the two cumulative distributions: 0 for equal ones, 1 if a time tells one from the other. */
function distanceOf(one, other) {
  const all = [...one.map(time => [time, 1 / one.length]), ...other.map(time => [time, -1 / other.length])]
  let [sum, most] = [0, 0]
  for (const [, step] of all.sort(([a], [b]) => a - b)) {
    sum += step
    most = Math.max(most, Math.abs(sum))
  }
  return most
}

/** Asks with a bare socket, so that the client adds little to the times. Answers the status. */
async function onOneConnection(room, port) {
  const socket = connect(port, '127.0.0.1')
  room.atEnd(() => socket.destroy())
  socket.setNoDelay()
  socket.setEncoding('latin1')
  let heard = ''
  let answered = () => {}
  let broken = () => {}
  socket.on('error', () => {}).on('close', () => broken(new Error('the server hung up')))
  socket.on('data', some => {
    heard += some
    const head = heard.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = /content-length: (\d+)/i.exec(heard)?.[1]
    if (length === undefined) broken(new Error(`an answer without a length: ${heard.slice(0, head)}`))
    if (!(heard.length >= head + 4 + Number(length))) return
    const status = heard.slice(9, 12)
    heard = ''
    answered(status)
  })
  return (method, path, user) =>
    new Promise((resolve, reject) => {
      answered = resolve
      broken = reject
      const length = method === 'POST' ? 'Content-Length: 0\r\n' : ''
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-User-Id: ${user}\r\n${length}\r\n`)
    })
}

/** A server without limits, and ways to ask and to start workers beside it. */
async function open(room, database) {
  const start = args => startProgram(room, database, args)
  const door = start(['serve'])
  await until(() => /http:\/\/[\d.]+:\d+/.test(door.reported()), { seconds: 120, what: 'the address of the server' })
  const [address] = /http:\/\/[\d.]+:\d+/.exec(door.reported())
  const ask = async (path, user, body, wanted = [202]) => {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const headers = { ...type, 'x-user-id': user }
    const response = await fetch(`${address}${path}`, { method: 'POST', headers, body })
    if (!wanted.includes(response.status)) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    await response.body?.cancel()
    return response
  }
  return { ask, port: Number(new URL(address).port), start }
}

/** Fifty documents of each reader, so that a list is a full page. */
const documentsOf = readers => `
  insert into documents.documents
    (id, user_id, filename, size, sha256, file_id, status, job_id, pages, title, search, created_at, updated_at)
  select gen_random_uuid(), 'user' || u, 'contrato-' || n || '.pdf', 1000, sha256((u || '-' || n)::bytea), 0, 'DONE', 0, 3, 'Contrato ' || n,
    to_tsvector('portuguese', 'contrato de locação ' || n), now(), now()
  from generate_series(0, ${readers - 1}) u, generate_series(1, 50) n`

/** Five connections of each user, with ids as Pluggy makes them. */
const itemsOf = users => `
  insert into documents.bank_item (id, user_id, institution, status, checked_at, simulated, created_at)
  select gen_random_uuid()::text, 'user' || u, 'Banco', 'UPDATED', now(), true, now()
  from generate_series(0, ${users - 1}) u, generate_series(1, 5)`

/** A PDF that takes some seconds to read. */
const bookOf = n =>
  Buffer.from(
    goodPdf(Array.from({ length: 1500 }, (_, page) => `Página ${page} do livro ${n}\n${'palavra '.repeat(60)}`)),
  )

const openWork = async database => {
  const [{ n }] = await database.sql(
    `select count(*)::int as n from retoma.job where queue in ('documents', 'sync') and state in ('waiting', 'running') and run_at <= now() + interval '1 minute'`,
  )
  return n
}

/** Of a process and everything below it. */
function memoryOf(root) {
  const pids = [String(root)]
  for (let at = 0; at < pids.length; at++) {
    try {
      const below = execFileSync('pgrep', ['-P', pids[at]], { encoding: 'utf8' })
      pids.push(...below.trim().split('\n').filter(Boolean))
    } catch {
      // A process without children.
    }
  }
  return pids.reduce((sum, pid) => {
    try {
      return sum + pssOf([pid]).reduce((all, { bytes }) => all + bytes, 0)
    } catch {
      // The process has ended meanwhile.
      return sum
    }
  }, 0)
}
