/**
 * Runs the heartbeat thread: a thread beside a worker's main loop, with its own connection. The thread writes heartbeats while the main
 * loop is blocked, and reports the blocked loop with the cause. Started by heartbeat-thread.ts; ends with the process or on request.
 *
 * The thread must stay small: every import is in memory a second time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { sharedElapsed } from '../lib/clock.ts'
import { whileIdle } from '../lib/unref-timer.ts'
import type { HeartbeatPayload } from '../worker/sql/heartbeat.ts'
import { HeartbeatLoop } from './heartbeat-loop.ts'
import { readMainThreadStack } from './main-thread-stack.ts'
import { checkIntervalMs } from './process-pauses.ts'
import { ProcessWatch } from './process-watch.ts'
import { freeOf, slot } from './shared-state.ts'
import { createThreadLog } from './thread-log.ts'
import type { FromHeartbeatThread, HeartbeatThreadData, ToHeartbeatThread } from './thread-messages.ts'

const task = workerData as HeartbeatThreadData
const { signs } = task
const port = parentPort!
const tell = (message: FromHeartbeatThread) => port.postMessage(message)
const lookDeadlineMs = 600

const guard = new ProcessWatch({
  task,
  voice: createThreadLog(task.style, line => tell({ line })),
  look: () =>
    task.canLook ? readMainThreadStack(lookDeadlineMs) : Promise.resolve({ stack: 'not known here', job: null }),
  news: () => beats.soon(),
  now: sharedElapsed,
  memory: () => process.memoryUsage.rss(),
  kill: () => void process.kill(process.pid, 'SIGKILL'),
})

const beats = new HeartbeatLoop({
  url: task.url,
  vitals,
  landed() {
    signs[slot.beatAt] = sharedElapsed()
    signs[slot.lagMs] = 0
    guard.landed()
  },
  dead: id => tell({ dead: id }),
  silentMs: task.silentMs,
  silent: () => tell({ silent: true }),
})

function vitals(): HeartbeatPayload {
  const stood = sharedElapsed() - signs[slot.turnAt]!
  return {
    memoryBytes: guard.memoryBytes,
    loopLagMs: Math.max(signs[slot.lagMs]!, stood > 1000 ? stood : 0),
    inFlightCount: signs[slot.running]!,
    abandoned: signs[slot.abandoned]!,
    // A blocked loop starts no attempts.
    freeSlots: Object.fromEntries(task.queues.map((queue, n) => [queue, stood > 1000 ? 0 : freeOf(signs, n)])),
    unwrittenMs: signs[slot.unwrittenMs]!,
    supervised: task.papers !== undefined,
    blocked: guard.blocked,
    unblockedMs: guard.unblockedMs,
  }
}

guard.tick()
const stopLooking = whileIdle(checkIntervalMs, () => guard.tick())

port.on('message', (message: ToHeartbeatThread) => {
  if ('live' in message) return beats.live(message.live)
  stopLooking()
  void beats.end().finally(() => process.exit())
})
signs[slot.hears] = 1
