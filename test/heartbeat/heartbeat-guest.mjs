/**
 * `heartbeat-guest.mjs URL TASK FILE`: a process with a worker, whose jobs do to it what their TASK says, until FILE is there; heartbeat.test.ts looks on from
 * outside. Says `ready`, then what happens, a line each.
 */
import { pbkdf2Sync } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { createEngine, defineJob, megabytes, minutes, seconds } from '../../dist/index.js'
import { createLog } from '../../dist/lib/logging/log.js'

const [url, task, enough] = process.argv.slice(2)
const say = line => process.stdout.write(`${line}\n`)
const turn = () => new Promise(resolve => setTimeout(resolve, 10))

/** Asks so seldom that whoever looks finds it here. */
function spinHard(isEnough) {
  for (let turns = 1; turns % 10_000_000 !== 0 || !isEnough(); turns++);
}

const over = new EventEmitter()
const hoard = []
/** Not before the loop is stopped: only then is it distinguished from its neighbours for sure. */
function devour() {
  const from = performance.now()
  spinHard(() => performance.now() - from > 1500)
  for (;;) hoard.push(Buffer.alloc(8_000_000, 1))
}

const tasks = {
  spin: () => spinHard(() => existsSync(enough)),
  endless: () => spinHard(() => false),
  asking: () => spinHard(() => false),
  native: () => void pbkdf2Sync('p', 's', 100_000_000, 64, 'sha512'),
  memory: devour,
  nothing: () => {},
  doze: () => {},
}

const bad = defineJob({
  kind: 'bad',
  maxAttempts: 1,
  timeout: ['spin', 'memory'].includes(task) ? minutes(5) : seconds(task === 'doze' ? 6 : 3),
  run: async ctx => {
    await turn()
    say('begins')
    // Its answer cannot come while the loop spins.
    if (task === 'asking') void ctx.step('asked', () => 1)
    // Looks now and then whether it may end, and hears its signal.
    for (; task === 'doze' && !existsSync(enough); await turn()) ctx.signal.throwIfAborted()
    tasks[task]()
    say('ends')
    over.emit('over')
  },
})
const neighbour = defineJob({
  kind: 'neighbour',
  maxAttempts: 1,
  timeout: seconds(6),
  run: async () => {
    say('neighbour')
    await once(over, 'over')
  },
})

const engine = await createEngine({
  databaseUrl: url,
  jobs: [bad, neighbour],
  log: createLog({ level: 'warn', format: 'json' }),
})
await engine.work({ queues: { default: 5 }, memory: process.memoryUsage.rss() + megabytes(200) })
say('ready')
process.stdin.resume().on('end', async () => {
  await engine.close()
})
