/**
 * Jobs of five steps, ten at a time in a worker process. The process is SIGKILLed at random instants, so jobs die in every
 * phase. A ledger outside the database has every effect; after each death the proof reads the checkpoints, and the effect
 * of a saved checkpoint must never happen again.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../chaos/lib/random.mjs'
import { openDb } from '../../dist/database/db.js'
import { createEngine } from '../../dist/index.js'
import { silentLog } from '../../dist/lib/logging/log.js'
import { recoverOrphans } from '../../dist/recovery/sql/recover-jobs-of-dead-worker.js'
import { grouped, part } from '../lib/figures.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { comesAbout, until } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'SIGKILL at every instant of jobs of five steps: an effect that was checkpointed happens once, every job succeeds'

const slots = 10
const jobsPerKill = 12
/**
 * The approximate size of the ledger lines of ten jobs from start to end, so each kill hits a job in a random phase on any
 * machine.
 */
const bytesOfTen = 10 * 16 * 36

export async function prove({ room, scale, say, hold, atLeast }) {
  const server = await room.server()
  const database = await server.database()
  const ledger = join(room.folder, 'ledger')
  const job = toEnqueue('fivesteps')
  const engine = await createEngine({ databaseUrl: database.url, jobs: [job] })
  room.atEnd(() => engine.close())
  const db = openDb({ url: database.url, log: silentLog })
  room.atEnd(() => db.close())
  const kills = Math.max(5, Math.round(150 * scale))
  const { ids } = await engine.enqueueMany(
    job,
    Array.from({ length: kills * jobsPerKill }, () => undefined),
  )
  writeFileSync(ledger, '')
  const hire = () =>
    startWorker(room, { url: database.url, jobs: [{ name: 'fivesteps', ledger }], queues: { steps: slots } })
  const seed = Date.now() % 1_000_000
  const random = randomFrom(seed)

  const places = {}
  const savedAt = new Map()
  let deaths = 0
  for (let kill = 0; kill < kills; kill++) {
    const target = sizeOf(ledger) + random.between(0, bytesOfTen)
    const worker = await hire()
    await until(() => sizeOf(ledger) >= target, { everyMs: 1, seconds: 60, what: 'the instant to kill at' })
    await sleep(random.between(0, 5))
    await worker.kill()
    // A checkpoint committed by now counts from this line of the ledger on.
    const lines = read(ledger)
    const saved = await database.sql(`select job_id::text as id, name from retoma.checkpoint`)
    for (const { id, name } of saved) if (!savedAt.has(`${id} ${name}`)) savedAt.set(`${id} ${name}`, lines.length)
    const held = await database.sql(`select id::text as id, attempt from retoma.job where worker_id = $1`, [worker.id])
    for (const each of held) {
      const place = placeOf(lines, each, savedAt)
      places[place] = (places[place] ?? 0) + 1
      deaths++
    }
    // The worker is certainly dead, so the proof does not wait for the watchdog.
    await database.sql(`update retoma.worker set dead_at = now() where id = $1`, [worker.id])
    while ((await recoverOrphans(db, 500, null)).length > 0);
  }
  const last = await hire()
  // Workers that were declared dead left nothing: a minute is plenty.
  await comesAbout(() => isOver(database), { everyMs: 100, seconds: 60 })
  await last.kill()

  say(`${kills} kills (seed ${seed}) hit ${grouped(deaths)} jobs in flight:`)
  for (const place of Object.keys(places).sort()) say(`  ${String(places[place]).padStart(4)} ${place}`)
  const effects = read(ledger)
    .map((line, at) => ({ ...line, at }))
    .filter(line => line.what === 'effect')
  const rows = await database.sql(
    `select j.id::text as id, j.state, j.result, j.attempt,
       (select jsonb_object_agg(name, attempt) from retoma.checkpoint c where c.job_id = j.id) as saved
     from retoma.job j`,
  )
  const jobs = new Map(rows.map(row => [row.id, row]))
  const nameOf = ({ id, n }) => `${id} step-${n}`
  const none = (what, wrong) =>
    hold(`${what}: ${wrong.length}${wrong[0] ? `, such as ${JSON.stringify(wrong[0])}` : ''}`, wrong.length === 0)
  none(
    'effects after their checkpoint had been seen',
    effects.filter(each => each.at >= (savedAt.get(nameOf(each)) ?? Number.POSITIVE_INFINITY)),
  )
  none(
    'effects by a later attempt than the one that was kept',
    effects.filter(each => each.attempt > (jobs.get(each.id).saved?.[`step-${each.n}`] ?? each.attempt)),
  )
  none(
    'jobs that did not succeed',
    rows.filter(row => row.state !== 'succeeded'),
  )
  none(
    'jobs whose result is not what their steps kept',
    rows.filter(row => !isKept(row)),
  )
  const happened = new Set(effects.map(nameOf))
  none(
    'effects that never happened',
    ids.flatMap(id => [1, 2, 3, 4, 5].map(n => ({ id, n }))).filter(each => !happened.has(nameOf(each))),
  )
  const attempts = rows.map(row => row.attempt)
  say(
    `${grouped(effects.length - happened.size)} effects happened again, because their process died before the checkpoint was committed; ` +
      `attempts of a job: p50 ${part(attempts, 0.5)}, most ${Math.max(...attempts)}`,
  )
  if (scale < 1) return
  atLeast('jobs in flight at a kill', deaths, 500)
  atLeast('places at which jobs died', Object.keys(places).length, 15)
}

const isOver = async database =>
  (await database.sql(`select from retoma.job where finished_at is null limit 1`)).length === 0

const isKept = ({ result, saved }) =>
  result?.length === 5 && result.every(({ n, attempt }, i) => n === i + 1 && attempt === saved?.[`step-${n}`])

/** Returns the phase of an attempt from the attempt's last line. */
function placeOf(lines, { id, attempt }, savedAt) {
  const last = lines.findLast(line => line.id === id && line.attempt === attempt)
  if (last === undefined) return '0 claimed, not begun'
  const { what, n } = last
  switch (what) {
    case 'start':
      return '0 begun'
    case 'begin':
      return `${n} in step ${n}`
    case 'effect':
      return savedAt.has(`${id} step-${n}`)
        ? `${n} saved, and step ${n} not reported yet`
        : `${n} step ${n} done, not saved`
    default:
      return n === 5 ? '9 over, not settled' : `${n} saved, before step ${n + 1}`
  }
}

const sizeOf = path => statSync(path).size

function read(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [what, id, attempt, n] = line.split(' ')
      return { what, id, attempt: Number(attempt), n: Number(n) }
    })
}
