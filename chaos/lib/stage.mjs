/**
 * The environment of a scenario: a private folder with a PostgreSQL server, worker processes to kill or stop, and a
 * deadline. After a scenario, whether passed, failed or late, no process and no file is left.
 */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openEmbedded } from '../../dist/embedded-postgres/index.js'
import * as retoma from '../../dist/index.js'
import { startServerCleanup } from '../../dist/testing/test-server-cleanup.js'
import { processesLeft } from '../../scripts/lib/leftovers.mjs'
import { chaosJobs } from './jobs.mjs'
import { Ledger } from './ledger.mjs'
import { randomFrom } from './random.mjs'
import { askRetoma, startRetoma } from './retoma.mjs'
import { troubleJobs } from './trouble-jobs.mjs'
import { startWorker } from './worker.mjs'

/** Runs a scenario. Returns the number of broken promises. */
export async function perform(name, scenario, { jobs, seed }) {
  const began = performance.now()
  const stage = await openStage({ jobs, random: randomFrom(seed) })
  const interrupted = signal => {
    stage.kill()
    rmSync(stage.room, { recursive: true, force: true, maxRetries: 5 })
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, interrupted)
  console.log(`\n${name}: ${scenario.title}`)
  const late = new AbortController()
  try {
    const played = scenario.play(stage)
    played.catch(() => {})
    const deadline = sleep(scenario.seconds * 1000, 'late', { signal: late.signal })
    deadline.catch(() => {})
    if ((await Promise.race([played, deadline])) === 'late') stage.broke(`not over after ${scenario.seconds} s`)
  } catch (error) {
    stage.broke(error.stack ?? String(error))
  } finally {
    late.abort()
  }
  for (const problem of await stage.close()) stage.broke(problem)
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupted)
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  console.log(`  ${stage.broken.length === 0 ? 'held' : `${stage.broken.length} BROKEN`} (${seconds} s)`)
  return stage.broken.length
}

/** Waits at most `seconds`. The cleanup process ends the rest. */
async function within(seconds, promise) {
  const over = new AbortController()
  const late = sleep(seconds * 1000, undefined, { signal: over.signal }).catch(() => {})
  await Promise.race([promise, late]).catch(() => {})
  over.abort()
}

async function openStage({ jobs, random }) {
  // Short: a unix socket's path has 104 characters at most.
  const room = realpathSync(mkdtempSync(join(tmpdir(), 'rtm-')))
  chmodSync(room, 0o711)
  mkdirSync(join(room, 'logs'))
  // Ends the server and removes the folder even when this process is killed.
  const warden = startServerCleanup()
  warden.watch(room)
  const server = await openEmbedded({ dataDir: join(room, 'd') })
  const kinds = chaosJobs(() => {})
  const troubles = troubleJobs(retoma)
  const batch = retoma.defineBatch({ name: 'tasks', job: kinds.task, onComplete: kinds.over })
  const all = [...Object.values(kinds), ...Object.values(troubles)]
  const engine = await retoma.createEngine({ databaseUrl: server.url, jobs: all })
  const admin = new pg.Pool({ connectionString: server.url, max: 3, application_name: 'chaos' })
  admin.on('error', () => {})
  const workers = new Set()
  const supervisors = new Set()
  const broken = []

  const stage = {
    room,
    jobs,
    random,
    server,
    engine,
    workers,
    broken,
    ledger: new Ledger(join(room, 'ledger')),
    kinds,
    troubles,
    say: line => console.log(`  ${line}`),
    broke(problem) {
      broken.push(problem)
      if (broken.length <= 20) console.log(`  BROKEN: ${problem}`)
    },
    /** At most three examples of each kind of trouble. */
    brokeEach(what, list) {
      if (list.length === 0) return
      stage.broke(
        `${list.length} ${what}: ${list
          .slice(0, 3)
          .map(each => JSON.stringify(each))
          .join(' ')}`,
      )
    },
    /**
     * Enqueues the tasks, half of the tasks in batches of random sizes. Returns the number of jobs, including the `over`
     * job of each batch.
     */
    async send(inputs) {
      const half = Math.floor(inputs.length / 2)
      await engine.enqueueMany(kinds.task, inputs.slice(0, half))
      let batches = 0
      for (let from = half; from < inputs.length; batches++) {
        const size = Math.ceil(random.between(0, 1500))
        await engine.submit(batch, inputs.slice(from, from + size))
        from += size
      }
      return inputs.length + batches
    },
    sql: async (text, values = []) => (await admin.query(text, values)).rows,
    /** A worker process, ready to work. */
    async hire(options = {}) {
      const worker = await startWorker({ url: server.url, room, ledger: stage.ledger.path, ...options })
      workers.add(worker)
      worker.ended.then(() => workers.delete(worker))
      return worker
    },
    /** Starts `retoma worker` with the misbehaving jobs: a supervisor and a worker process. */
    supervise(options = {}) {
      const supervisor = startRetoma({ room, url: server.url, ...options })
      supervisors.add(supervisor)
      supervisor.ended.then(() => supervisors.delete(supervisor))
      return supervisor
    },
    /** Runs a command of the CLI to the end. */
    ask: (...args) => askRetoma({ room, url: server.url, args }),
    kill() {
      for (const worker of workers) worker.signal('SIGKILL')
      for (const each of supervisors) each.signal('SIGKILL')
    },
    /** Ends every process and removes the folder. Returns a problem for each process left. */
    async close() {
      // SIGTERM first, as a user does, then SIGKILL after 10 s.
      for (const each of supervisors) each.signal('SIGTERM')
      await within(10, Promise.all([...supervisors].map(each => each.ended)))
      stage.kill()
      await Promise.all([...workers].map(each => each.ended))
      await within(5, engine.close())
      await within(2, admin.end())
      await within(20, server.leave())
      await warden.end()
      rmSync(room, { recursive: true, force: true, maxRetries: 5 })
      return (await processesLeft(room)).map(({ pid, command }) => {
        process.kill(pid, 'SIGKILL')
        return `left running: ${pid} ${command}`
      })
    },
  }
  return stage
}
