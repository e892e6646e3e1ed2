/**
 * A storm over several batches: a worker process of four is SIGKILLed about every second and replaced, ten callers run
 * all actions, and an auditor recounts all jobs in a loop: the counters must agree in each snapshot. Then the faults
 * stop, all held batches are resumed, and every batch must end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../chaos/lib/random.mjs'
import { createEngine, defineBatch, isRetomaError } from '../../dist/index.js'
import { grouped, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { lockTrouble, logLocks } from '../lib/lock-trouble.mjs'
import { recount } from '../lib/recount.mjs'
import { comesAbout } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'batch counters equal a recount in every snapshot of a kill storm, ten callers running every action; each batch ends once, no deadlock'

const callers = 10
/** Batches that are open at once; as many of the newest get actions. */
const open = 8
/** Three chunks of a submit, so actions can happen between chunks, and a cancel needs more than a single chunk. */
const items = 2500
const mustChange = ['pause', 'retry failed', 'retry failed of one cause', 'stall', 'resume', 'cancel', 'skip an item']
/** The jobs of a dead worker become ready after 20 to 25 s. */
const calmSeconds = 120

/** Jobs of the second kind stall when the worker dies, and an action must resume the jobs. */
const kinds = [{ name: 'stormy' }, { name: 'stormy', kind: 'stally', onOrphan: 'stall' }]

export async function prove(proof) {
  const { room, scale, say } = proof
  const server = await room.server(logLocks)
  const database = await server.database()
  const seed = Date.now() % 1_000_000
  const random = randomFrom(seed)
  const onComplete = toEnqueue('done')
  const batches = kinds.map(({ name, ...options }) =>
    defineBatch({ name: options.kind ?? name, job: toEnqueue(name, options), onComplete, maxResumes: 5 }),
  )
  const engine = await createEngine({ databaseUrl: database.url, batches })
  room.atEnd(() => engine.close())
  const task = { url: database.url, jobs: [...kinds, { name: 'done' }], queues: { storm: 10, done: 2 } }
  const hire = () => startWorker(room, task)
  const workers = await Promise.all(Array.from({ length: 4 }, hire))
  const auditor = startHelper(room, 'recount', { url: database.url })
  const actor = startHelper(room, 'action', { url: database.url, callers, seed, among: open })

  const seconds = Math.max(10, Math.round(60 * scale))
  const ending = performance.now() + seconds * 1000
  const feeding = feed({ engine, database, batches, random }, () => performance.now() < ending)
  let kills = 0
  while (performance.now() < ending) {
    await sleep(random.between(500, 1500))
    const place = kills++ % workers.length
    // On a busy machine the replacement may still be starting.
    const victim = await workers[place]
    await victim.kill()
    workers[place] = hire()
  }
  const submitted = await feeding
  const acted = await actor.stop()
  say(`${seconds} s (seed ${seed}): ${submitted} batches of ${items}, ${kills} kills, ${callers} callers:`)
  for (const [action, times] of Object.entries(acted.called))
    say(`  ${action}: ${times}, ${acted.changed[action] ?? 0} of them changed it`)
  say(`  refused: ${JSON.stringify(acted.refused)}`)

  const began = performance.now()
  const calmed = await comesAbout(() => calm(engine, database), { everyMs: 500, seconds: calmSeconds })
  proof.hold(
    `every batch and item has ended, ${round((performance.now() - began) / 1000, 1)} s after the storm`,
    calmed,
  )
  await judge(proof, { server, database, audited: await auditor.stop(), acted, kills, seconds })
  for (const worker of await Promise.all(workers)) await worker.kill()
}

/** Submits new batches as others end, slowly enough for actions during a submit. Returns the number of batches. */
async function feed({ engine, database, batches, random }, goesOn) {
  const submits = new Set()
  let count = 0
  const one = async () => {
    async function* list() {
      for (let n = 0; n < items; n++) {
        if (n % 100 === 0) await sleep(random.between(0, 40))
        yield { ms: Math.round(random.between(0, 30)), fails: random.next() < 0.1 ? 1 : random.next() < 0.1 ? 2 : 0 }
      }
    }
    await engine.submit(batches[count++ % batches.length], list()).catch(error => {
      // An action cancelled the batch during the submit, or the batch is in another refused state.
      if (!isRetomaError(error) || !['batch_cancelled', 'batch_state'].includes(error.code)) throw error
    })
  }
  while (goesOn()) {
    const [running] = await database.sql(
      `select count(*)::int as n from retoma.batch where finished_at is null and name <> 'small'`,
    )
    if (running.n + submits.size < open) {
      const submit = one().finally(() => submits.delete(submit))
      submits.add(submit)
    }
    await sleep(50)
  }
  await Promise.all(submits)
  return count
}

/** Resumes all held batches and jobs. Returns true when all have ended. */
async function calm(engine, database) {
  for (const { id, state } of await database.sql(
    `select id::text as id, state from retoma.batch where finished_at is null`,
  )) {
    if (state === 'paused' || state === 'stalled') await engine.batches.resume(id)
  }
  for (const { id } of await database.sql(`select id::text as id from retoma.job where state = 'stalled'`))
    await engine.jobs.resume(id)
  const [{ left }] = await database.sql(
    `select exists (select from retoma.batch where finished_at is null or cascade is not null)
       or exists (select from retoma.job where finished_at is null) as left`,
  )
  return !left
}

async function judge({ say, hold, atLeast, scale }, { server, database, audited, acted, kills, seconds }) {
  const { snapshots, moving, wrong, examples } = audited
  say(
    `the auditor took ${grouped(snapshots)} snapshots, ${grouped(moving)} of them with something ended since the one before`,
  )
  hold(
    `snapshots in which counters and recount differ: ${wrong}${examples.map(each => `\n${each}`).join('')}`,
    wrong === 0,
  )
  const last = await recount(database.sql)
  hold(
    `and none at the end, over ${grouped(last.batches)} batches and ${grouped(last.ended)} items`,
    last.wrong.length === 0,
  )
  if (scale === 1) {
    atLeast('snapshots of something that moves, each second of the storm', moving / seconds, 2)
    atLeast('kills', kills, seconds / 3)
  }
  const idle = mustChange.filter(action => !acted.changed[action])
  if (scale === 1) hold(`actions that never changed anything: ${idle.join(', ') || 'none'}`, idle.length === 0)
  hold(
    `errors of actions: ${acted.errors.length}${acted.errors.map(each => `\n${each}`).join('')}`,
    acted.errors.length === 0,
  )

  const rows = await database.sql(check)
  const none = (what, list) =>
    hold(`${what}: ${list.length}${list[0] ? `, such as ${JSON.stringify(list[0])}` : ''}`, list.length === 0)
  const count = state => rows.filter(row => row.state === state).length
  say(`${count('succeeded')} batches succeeded, ${count('cancelled')} were cancelled, ${count('failed')} failed`)
  none(
    'batches that succeeded without an end',
    rows.filter(row => row.state === 'succeeded' && row.completions < 1),
  )
  none(
    'batches of which nothing ran again and that ended more than once',
    rows.filter(row => row.reopen_count === 0 && row.completions > 1),
  )
  none(
    'batches with another number of onComplete jobs than ends',
    rows.filter(row => row.completes !== row.completions || row.numbers !== row.completions),
  )
  none(
    'onComplete jobs that did not succeed',
    rows.filter(row => row.completed !== row.completes),
  )
  const { deadlocks, waits, examples: locks } = await lockTrouble(server)
  say(`${waits} waits for a lock of a second or more`)
  hold(`deadlocks: ${deadlocks}${deadlocks > 0 ? `\n${locks.join('\n')}` : ''}`, deadlocks === 0)
}

const check = `
  select b.id::text as id, b.state, b.completions, b.reopen_count, c.*
  from retoma.batch b
    cross join lateral (
      select count(*)::int as completes, count(distinct input ->> 'end')::int as numbers,
        count(*) filter (where state = 'succeeded')::int as completed
      from retoma.job j where j.kind = 'done' and j.input ->> 'batch' = b.id::text
    ) c`
