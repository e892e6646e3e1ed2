/** Validates the options of `engine.work` and derives the settings of the heartbeat thread. */

import type { Db } from '../database/db.ts'
import type { KindRegistry } from '../enqueue/kind-registry.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { defaultPolicy } from '../jobs/model/policy.ts'
import type { Duration } from '../lib/values/duration.ts'
import { shownValue } from '../lib/values/json.ts'
import { defaultMemoryCap, type HeartbeatSettings } from './main-loop-heartbeat.ts'

/** Options of `engine.work`. */
export interface WorkOptions {
  /** Concurrency in this process by queue name. Default: every queue of the engine's jobs, schedules and enqueues so far, 10 each. */
  queues?: Readonly<Record<string, number>>
  /** On stop: the time a handler may continue after its signal before its job is released. Default 5 s. */
  grace?: Duration
  /**
   * Memory limit of this process in bytes, such as megabytes(512). Above the limit a supervised worker ends itself and names the
   * job; an unsupervised worker only reports. Default: three quarters of the memory of the container or of the machine, divided by the number
   * of processes of `retoma worker --processes`.
   */
  memory?: number
  /**
   * Kills the process if a job blocks the event loop past its timeout. Default: only if a supervisor restarts the process, as
   * `retoma worker` does.
   */
  killWhenHung?: boolean
  /**
   * Stops the worker on SIGTERM and SIGINT. The first signal stops the worker as `stop()` does; then, unless your own code listens to the
   * signal too, the engine closes and the process ends by the signal. A second signal exits at once. Default false.
   */
  signals?: boolean
}

/** Below this limit even an idle worker would end itself. */
const leastMemory = 64_000_000

export function heartbeatSettings(
  { memory, killWhenHung = false }: WorkOptions,
  db: Pick<Db, 'direct' | 'names'>,
  registry: KindRegistry,
  processes: number,
): HeartbeatSettings {
  const orphanAfter = Math.min(
    defaultPolicy.orphanAfter,
    ...[...registry.jobs.values()].map(job => job.policy.orphanAfter),
  )
  const memoryBytes = checkMemory(memory) ?? Math.max(Math.floor(defaultMemoryCap() / processes), leastMemory)
  return {
    target: db.direct,
    schema: db.names.schema,
    killWhenHung,
    memoryBytes,
    silentMs: orphanAfter * 0.75,
  }
}

export function checkQueues(queues: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  for (const [queue, size] of Object.entries(queues)) {
    if (Number.isInteger(size) && size >= 1 && size <= 10_000) continue
    const problem = localized(
      `concurrency is a whole number from 1 to 10000, not ${shownValue(size)}`,
      `a concorrência é um número inteiro de 1 a 10000, não ${shownValue(size)}`,
    )
    throw new RetomaError('bad_option', { option: `queues.${queue}`, problem })
  }
  return queues
}

export function checkMemory(memory: number | undefined): number | undefined {
  if (memory === undefined || (Number.isFinite(memory) && memory >= leastMemory)) return memory
  const problem = localized(
    `it is a number of bytes from 64 MB on, such as megabytes(512), not ${shownValue(memory)}`,
    `é um número de bytes a partir de 64 MB, como megabytes(512), não ${shownValue(memory)}`,
  )
  throw new RetomaError('bad_option', { option: 'memory', problem })
}
