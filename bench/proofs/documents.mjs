/**
 * The documents as they are deployed: `retoma serve`, a worker for PDFs and a worker for syncs, each a process of its own. 500 users read
 * their lists, first alone and then while PDFs and syncs run. Then a hundred hostile PDFs, with the memory of all processes of the worker.
 */
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJiti } from 'jiti'
import { round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { startProgram } from '../lib/program.mjs'
import { pssOf } from '../lib/pss.mjs'
import { until } from '../lib/until.mjs'

export const title =
  '500 readers beside 20 syncs and 10 PDFs: no request fails, p95 at most 3 times the idle value; 100 hostile PDFs end, and the memory stays bounded'

const jiti = createJiti(import.meta.url)
const { goodPdf } = await jiti.import('../../apps/classifier/test/pdfs.ts')
const { hundredHostile } = await jiti.import('../../apps/documents/test/hostile.ts')

const atOnce = 4
/** Each child of the worker may use 512 MB; the worker itself needs less than 300 MB. */
const mostMegabytes = atOnce * 512 + 300

export async function prove(given) {
  const server = await given.room.server()
  await besideWork({ ...given, database: await server.database() })
  await hostile({ ...given, database: await server.database() })
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
    await work()
    return helper.stop()
  }
  await read(() => sleep(5000))
  const idle = await read(() => sleep(20_000))
  const pdfs = Array.from({ length: 10 }, (_, n) => bookOf(n))
  let seconds = 0
  const busy = await read(async () => {
    const began = performance.now()
    for (const [n, bytes] of pdfs.entries()) {
      const form = new FormData()
      form.set('file', new File([bytes], `livro-${n}.pdf`))
      await ask('/api/documents', `user${n}`, form)
    }
    for (let n = 0; n < 20; n++) await ask('/api/open-finance/sync', `user${n}`, '{}')
    await until(async () => (await openWork(database)) === 0, { everyMs: 200, seconds: 1200 })
    seconds = (performance.now() - began) / 1000
  })
  const [ended] = await database.sql(
    `select count(*) filter (where status = 'DONE' and job_id > 0)::int as done from documents.documents`,
  )
  const [synced] = await database.sql(
    `select count(*)::int as n from retoma.job where queue = 'sync' and state = 'succeeded' and kind not like '%tidy%'`,
  )
  const figures = ({ requests, p50, p95, p99 }) =>
    `${requests} requests, p50 ${round(p50, 1)} ms, p95 ${round(p95, 1)} ms, p99 ${round(p99, 1)} ms`
  say(`${readers} readers alone: ${figures(idle)}`)
  say(`beside 10 PDFs and 20 syncs (${round(seconds)} s): ${figures(busy)}`)
  hold(`PDFs that are DONE: ${ended.done}`, ended.done === 10)
  hold(`syncs that succeeded: ${synced.n}`, synced.n >= 20)
  const failed = [idle, busy].flatMap(({ statuses }) => Object.keys(statuses)).filter(status => status !== '200')
  hold(`answers other than 200: ${JSON.stringify([idle.statuses, busy.statuses])}`, failed.length === 0)
  atMost('p95 beside the work, over p95 alone', busy.p95 / idle.p95, 3)
}

async function hostile({ room, scale, say, hold, atMost, database }) {
  const { ask, start } = await open(room, database)
  const worker = start(['worker', '--queues', `documents:${atOnce}`])
  const all = hundredHostile().slice(0, Math.round(100 * scale))
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
