/**
 * A batch of a million items: submitted from an async generator by a separate process, run by two workers, and read all the
 * time. The proof pauses and resumes the batch, and cancels the rest after three quarters. Then a smaller batch is
 * submitted while the workers work, and runs to the end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine } from '../../dist/index.js'
import { now } from '../lib/clock.mjs'
import { grouped, part, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { recount } from '../lib/recount.mjs'
import { watchRss } from '../lib/rss.mjs'
import { comesAbout, until } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'a batch of 1,000,000: submitted at 30,000 items/s below 200 MB; its status in 10 ms, a page of failures in 50 ms, a pause in 1 s'

/** A worker without notifications polls every five seconds: a pause must last longer. */
const pausedMs = 7000
/** Frequent reads clear dead index entries; rare reads meet all the dead entries since the last read. */
const often = 10
const seldom = 3000

export async function prove(proof) {
  const { room, scale, atMost } = proof
  const server = await room.server()
  const database = await server.database()
  const engine = await createEngine({ databaseUrl: database.url })
  room.atEnd(() => engine.close())
  const total = Math.round(1_000_000 * scale)
  const view = { phase: 'submit', everyMs: often, times: {}, pages: { all: [], 'of one cause': [] } }

  const id = await submit(proof, { url: database.url, engine, view, total })
  await checkCounters(proof, database, 'submitted')
  const task = { url: database.url, jobs: [{ name: 'item' }, { name: 'done' }], queues: { items: 50, done: 1 } }
  const workers = await Promise.all([startWorker(room, task), startWorker(room, task)])
  const untilEnded = share =>
    until(async () => (await engine.batch(id)).percent >= share * 100, { everyMs: 50, what: `${share} of it` })

  const began = performance.now()
  await seldomLookedAt(view, workers, total / 3)
  proof.say(`two workers: ${grouped(total / 3 / ((performance.now() - began) / 1000))} items/s`)
  await checkCounters(proof, database, 'a third done')
  await untilEnded(0.4)
  await pause(proof, { engine, id, workers, view, database })
  await untilEnded(0.6)
  await checkCounters(proof, database, 'three fifths done')
  await untilEnded(0.75)
  await cancel(proof, { engine, id, view, database })
  view.over = true
  await view.looking

  const all = Object.values(view.times).flat()
  for (const [phase, times] of Object.entries(view.times)) proof.say(`status during ${phase}: ${figures(times)}`)
  // Few looks: the median is judged.
  const few = view.times['work, looked at seldom']
  atMost(`status of the batch, read every 3 s, p50 of ${few.length}`, part(few, 0.5), 10, ' ms')
  atMost(`status of the batch, p99 of ${grouped(all.length)} reads`, part(all, 0.99), 10, ' ms')
  for (const [what, times] of Object.entries(view.pages)) {
    proof.say(`a page of 50 failed items, ${what}: ${figures(times)}`)
    atMost(`a page of failed items, ${what}, p99 of ${grouped(times.length)}`, part(times, 0.99), 50, ' ms')
  }
  await beside(proof, { engine, database, total: Math.round(total / 5) })
  await Promise.all(workers.map(worker => worker.kill()))
}

const figures = times =>
  `p50 ${round(part(times, 0.5), 1)}, p99 ${round(part(times, 0.99), 1)}, most ${round(Math.max(...times), 1)} ms`

/** Returns the id after the submit. The reads begin with the first chunk. */
async function submit({ room, atLeast, atMost, hold }, { url, engine, view, total }) {
  const submitter = startHelper(room, 'submit', { url, name: 'million', total })
  const most = watchRss(submitter.pid)
  const first = async () => (await engine.batches.list({ name: 'million' })).items[0]
  await until(first, { what: 'the batch' })
  const { id } = await first()
  view.looking = Promise.all([lookAt(engine, id, view), turnPages(engine, id, view)])
  const submitted = await submitter.reported
  atLeast(`submitted ${grouped(total)} items, each second`, total / submitted.seconds, 30_000)
  atMost('the submitting process at its largest (RSS)', most() / 1e6, 200, ' MB')
  hold(`every item is part of it: ${grouped(submitted.total)}`, submitted.total === total && submitted.id === id)
  return id
}

/** Reads the status of the batch until `view.over`. */
async function lookAt(engine, id, view) {
  while (!view.over) {
    const at = performance.now()
    await engine.batch(id)
    view.times[view.phase] ??= []
    view.times[view.phase].push(performance.now() - at)
    await sleep(view.everyMs)
  }
}

/** Until the workers have run so many, without asking the database. */
async function seldomLookedAt(view, workers, items) {
  Object.assign(view, { phase: 'work, looked at seldom', everyMs: seldom })
  const ran = async () => (await startsOf(workers)).reduce((sum, each) => sum + each.ran, 0)
  await until(async () => (await ran()) >= items, { everyMs: 100, what: 'the work' })
  Object.assign(view, { phase: 'work', everyMs: often })
}

/** Reads all pages of the failed items, and of the failed items of a single cause, again and again. */
async function turnPages(engine, id, view) {
  const after = {}
  const turn = async (what, filter) => {
    const at = performance.now()
    const { items, next } = await engine.batches.items(id, {
      state: 'failed',
      ...filter,
      ...(after[what] ? { after: after[what] } : {}),
    })
    after[what] = next
    if (items.length === 50) view.pages[what].push(performance.now() - at)
  }
  for (; !view.over; await sleep(50)) {
    if (view.everyMs === seldom) continue
    await turn('all', {})
    const [group] = view.cause ? [{ cause: view.cause }] : await engine.batches.failures(id)
    view.cause = group?.cause
    if (view.cause) await turn('of one cause', { cause: view.cause })
  }
}

async function checkCounters({ hold }, database, when) {
  const { wrong, ended } = await recount(database.sql)
  hold(
    `counters equal a recount, ${when} (${grouped(ended)} ended)${wrong.length > 0 ? `: ${wrong}` : ''}`,
    wrong.length === 0,
  )
}

const startsOf = workers => Promise.all(workers.map(worker => worker.ask('starts')))

async function pause(proof, { engine, id, workers, view, database }) {
  const { hold, atMost } = proof
  const asked = now()
  await engine.batches.pause(id)
  const paused = now()
  view.phase = 'pause'
  await sleep(pausedMs)
  const last = Math.max(...(await startsOf(workers)).map(each => each.last))
  hold(`items started until it was paused: the last ${round(last - asked)} ms after the call`, last > asked - 500)
  atMost('the last start after pause() had resolved', Math.max(0, last - paused), 1000, ' ms')
  const { waiting, running } = await engine.batch(id)
  hold(`nothing of it runs, and ${grouped(waiting)} wait`, running === 0 && waiting > 0)
  await checkCounters(proof, database, 'paused')
  await Promise.all(workers.map(worker => worker.ask('mark')))
  const resumed = now()
  await engine.batches.resume(id)
  view.phase = 'work'
  const goOn = await comesAbout(async () => (await startsOf(workers)).every(each => each.first !== null), {
    seconds: 30,
  })
  hold('both workers start items again', goOn)
  const firsts = (await startsOf(workers)).map(each => each.first)
  if (goOn) atMost('the later of their first starts after resume()', Math.max(...firsts) - resumed, 2000, ' ms')
}

async function cancel(proof, { engine, id, view, database }) {
  const { say, hold } = proof
  view.phase = 'cancel'
  const at = performance.now()
  await engine.batches.cancel(id)
  const answered = performance.now() - at
  await until(async () => !(await engine.batch(id)).following, { what: 'the end of all items' })
  const followed = performance.now() - at
  const { state, cancelled, waiting, running } = await engine.batch(id)
  say(
    `cancel answered after ${round(answered)} ms; ${grouped(cancelled)} items had followed after ${round(followed / 1000, 1)} s`,
  )
  hold(`cancelled, and nothing of it waits or runs`, state === 'cancelled' && cancelled > 0 && waiting + running === 0)
  await checkCounters(proof, database, 'cancelled')
}

/** Submits a batch while two workers run the items, and waits for the end. */
async function beside(proof, { engine, database, total }) {
  const { room, say, hold } = proof
  const began = performance.now()
  const { id, seconds } = await startHelper(room, 'submit', { url: database.url, name: 'beside', total }).reported
  await until(
    async () =>
      ['succeeded', 'completed_with_failures', 'failed', 'cancelled'].includes((await engine.batch(id)).state),
    {
      what: 'its end',
    },
  )
  const took = (performance.now() - began) / 1000
  const batch = await engine.batch(id)
  say(
    `${grouped(total)} more, submitted beside two workers at work: ${grouped(total / seconds)} items/s; over after ${round(took, 1)} s`,
  )
  const failing = Math.ceil((total - 7) / 100)
  hold(
    `it succeeded, with ${grouped(batch.failed)} failed`,
    batch.state === 'completed_with_failures' && batch.failed === failing && batch.succeeded === total - failing,
  )
  await checkCounters(proof, database, 'at the end')
}
