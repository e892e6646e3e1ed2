/**
 * HTTP: jobs that come in one by one over 32 connections, and what the reads cost beside five million finished jobs. Client,
 * server and PostgreSQL share this machine.
 */
import { readFileSync } from 'node:fs'
import { median } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'

export const title = 'enqueue one by one over 32 connections; reads beside 5,000,000 finished jobs'

const connections = 32
const body = JSON.stringify({ kind: 'noop', input: { n: 1 } })

export async function prove({ room, scale, say, atLeast, atMost }) {
  const server = await room.server()
  const database = await server.database()
  const { pid, port } = await startApi(room, database.url)

  const seconds = Math.max(3, Math.round(20 * scale))
  await load(room, { port, connections, seconds: 3, text: post() }) // warm
  const before = cpuSeconds(pid)
  const plain = await load(room, { port, connections, seconds, text: post() })
  const used = (cpuSeconds(pid) - before) / plain.took
  say(figures(plain))
  say(`of a core the API used ${percent(used)}, the client ${percent(plain.cpuMs / 1000 / plain.took)}`)
  const [{ made }] = await database.sql('select count(*)::int as made from retoma.job')
  say(`${made} jobs are there`)
  atLeast('jobs a second, one by one', plain.perSecond, 3000)

  const rows = Math.round(5_000_000 * scale)
  await fill(database, rows)
  say(`beside ${rows} finished jobs:`)
  const [{ id }] = await database.sql('select max(id)::text as id from retoma.job')
  const reads = [
    '/api/v1/jobs',
    ...['waiting', 'running', 'stalled', 'failed', 'succeeded', 'cancelled'].map(
      state => `/api/v1/jobs?state=${state}`,
    ),
    '/api/v1/jobs?state=cancelled&kind=rare',
    '/api/v1/jobs?kind=rare',
    '/api/v1/jobs?state=waiting&queue=rare',
    '/api/v1/jobs?key=none',
    '/api/v1/jobs?ref=none',
    `/api/v1/jobs/${id}`,
    `/api/v1/jobs/${id}/explain`,
    '/api/v1/stats',
    '/api/v1/workers',
  ]
  for (const path of reads) {
    const times = []
    for (let n = 0; n < 21; n++) {
      const began = performance.now()
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      await response.text()
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
      times.push(performance.now() - began)
    }
    atMost(`${path}, median`, median(times), 50, ' ms')
  }
}

const percent = share => `${Math.round(share * 100)} %`

const post = () =>
  `POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const figures = ({ perSecond, p50, p99, statuses }) =>
  `${Math.round(perSecond)} requests/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${JSON.stringify(statuses)}`

async function startApi(room, url) {
  let heard
  const listening = new Promise(resolve => {
    heard = resolve
  })
  const { pid } = startHelper(room, 'http-server', { url }, message => heard(message.port))
  return { pid, port: await listening }
}

/** Seconds of a core that a process has used, in hundredths (Linux). */
const cpuSeconds = pid => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const load = (room, task) => startHelper(room, 'http-client', task).reported

/** Finished ones, and a kind that has no job at all. */
async function fill({ sql }, rows) {
  await sql(
    `insert into retoma.kind (name, queue, policy, updated_at) values ('rare', 'rare', '{}', now()) on conflict do nothing`,
  )
  const chunk = 250_000
  for (let done = 0; done < rows; done += chunk) {
    await sql(
      `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, result, attempt, last_worker, created_at, started_at, finished_at)
       select 'default', 'noop', 'succeeded', 9, now(), '{"n": 1}', '"done"', 1, 'w', now(), now(), now() from generate_series(1, $1)`,
      [Math.min(chunk, rows - done)],
    )
  }
  await sql('vacuum analyze retoma.job')
}
