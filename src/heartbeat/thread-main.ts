/**
 * Runs the heartbeat thread: a thread beside a worker's main loop, with its own connection. The thread writes heartbeats while the main
 * loop is blocked, and reports the blocked loop with the cause. Started by heartbeat-thread.ts; ends with the process or on request.
 *
 * The thread must stay small: every import is in memory a second time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { ClientConfig } from 'pg'
import { sharedElapsed } from '../lib/clock.ts'
import { whileIdle } from '../lib/unref-timer.ts'
import type { HeartbeatPayload } from '../worker/sql/lease-heartbeat.ts'
import { BlockedLoopWatch } from './blocked-loop-watch.ts'
import { HeartbeatLoop } from './heartbeat-loop.ts'
import { readMainThreadStack } from './main-thread-stack.ts'
import { PasswordRequest } from './password-request.ts'
import { checkIntervalMs } from './process-pauses.ts'
import { freeOf, slot } from './shared-state.ts'
import { createThreadLog } from './thread-log.ts'
import type { FromHeartbeatThread, HeartbeatThreadData, ToHeartbeatThread } from './thread-messages.ts'

const task = workerData as HeartbeatThreadData
const { sharedState } = task
const port = parentPort!
const post = (message: FromHeartbeatThread) => port.postMessage(message)
const stackDeadlineMs = 600

const processWatch = new BlockedLoopWatch({
  task,
  threadLog: createThreadLog(task.style, line => post({ line })),
  readStack: () =>
    task.canReadStack ? readMainThreadStack(stackDeadlineMs) : Promise.resolve({ stack: 'not known here', job: null }),
  news: () => heartbeatLoop.soon(),
  now: sharedElapsed,
  memory: () => process.memoryUsage.rss(),
  kill: () => void process.kill(process.pid, 'SIGKILL'),
})

const passwords = new PasswordRequest(() => post({ asksPassword: true }))

function connectionConfig(): ClientConfig | undefined {
  if (task.connection === undefined) return undefined
  const { asksPassword } = task.connection
  const config = task.connection.config as unknown as ClientConfig
  return asksPassword ? { ...config, password: () => passwords.password() } : config
}

const heartbeatLoop = new HeartbeatLoop({
  config: connectionConfig(),
  schema: task.schema,
  measurements,
  landed() {
    sharedState[slot.heartbeatAt] = sharedElapsed()
    sharedState[slot.lagMs] = 0
    processWatch.landed()
  },
  dead: id => post({ dead: id }),
  silentMs: task.silentMs,
  silent: () => post({ silent: true }),
})

function measurements(): HeartbeatPayload {
  const blockedFor = sharedElapsed() - sharedState[slot.turnAt]!
  return {
    memoryBytes: processWatch.memoryBytes,
    loopLagMs: Math.max(sharedState[slot.lagMs]!, blockedFor > 1000 ? blockedFor : 0),
    inFlightCount: sharedState[slot.running]!,
    abandoned: sharedState[slot.abandoned]!,
    // A blocked loop starts no attempts.
    freeSlots: Object.fromEntries(
      task.queues.map((queue, n) => [queue, blockedFor > 1000 ? 0 : freeOf(sharedState, n)]),
    ),
    writeLagMs: sharedState[slot.writeLagMs]!,
    supervised: task.reportFolder !== undefined,
    blocked: processWatch.blocked,
    unblockedMs: processWatch.unblockedMs,
  }
}

processWatch.tick()
const stopWatch = whileIdle(checkIntervalMs, () => processWatch.tick())

port.on('message', (message: ToHeartbeatThread) => {
  if ('live' in message) return heartbeatLoop.live(message.live)
  if ('password' in message) return passwords.answered(message.password)
  stopWatch()
  void heartbeatLoop.end().finally(() => process.exit())
})
sharedState[slot.listens] = 1
