/**
 * Runs the heartbeat thread: a thread beside a worker's main loop, with its own connection. The thread writes heartbeats while the main
 * loop is blocked, and reports the blocked loop with the cause. Started by heartbeat-thread.ts; ends with the process or on request.
 *
 * The thread must stay small: every import is in memory a second time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { sharedElapsed } from '../lib/clock.ts'
import { whileIdle } from '../lib/unref-timer.ts'
import type { Vitals } from '../worker/sql/heartbeat.ts'
import { Beats } from './heartbeat-loop.ts'
import { lookAtMain } from './main-thread-stack.ts'
import { lookMs } from './process-pauses.ts'
import { Guard } from './process-watch.ts'
import { freeOf, sign } from './shared-state.ts'
import { createVoice } from './thread-log.ts'
import type { FromHeart, HeartTask, ToHeart } from './thread-messages.ts'

const task = workerData as HeartTask
const { signs } = task
const port = parentPort!
const tell = (message: FromHeart) => port.postMessage(message)
const lookDeadlineMs = 600

const guard = new Guard({
  task,
  voice: createVoice(task.style, line => tell({ line })),
  look: () => (task.canLook ? lookAtMain(lookDeadlineMs) : Promise.resolve({ stack: 'not known here', job: null })),
  news: () => beats.soon(),
  now: sharedElapsed,
  memory: () => process.memoryUsage.rss(),
  kill: () => void process.kill(process.pid, 'SIGKILL'),
})

const beats = new Beats({
  url: task.url,
  vitals,
  landed() {
    signs[sign.beatAt] = sharedElapsed()
    signs[sign.lagMs] = 0
    guard.landed()
  },
  dead: id => tell({ dead: id }),
  silentMs: task.silentMs,
  silent: () => tell({ silent: true }),
})

function vitals(): Vitals {
  const stood = sharedElapsed() - signs[sign.turnAt]!
  return {
    memoryBytes: guard.memoryBytes,
    loopLagMs: Math.max(signs[sign.lagMs]!, stood > 1000 ? stood : 0),
    inFlightCount: signs[sign.running]!,
    abandoned: signs[sign.abandoned]!,
    // A blocked loop starts no attempts.
    freeSlots: Object.fromEntries(task.queues.map((queue, n) => [queue, stood > 1000 ? 0 : freeOf(signs, n)])),
    unwrittenMs: signs[sign.unwrittenMs]!,
    supervised: task.papers !== undefined,
    blocked: guard.blocked,
    unblockedMs: guard.unblockedMs,
  }
}

guard.tick()
const stopLooking = whileIdle(lookMs, () => guard.tick())

port.on('message', (message: ToHeart) => {
  if ('live' in message) return beats.live(message.live)
  stopLooking()
  void beats.end().finally(() => process.exit())
})
signs[sign.hears] = 1
