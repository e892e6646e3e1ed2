/** What `engine.work` takes, checked at the door, and what a worker's heart is told of it. */
import type { Duration } from '../core/duration.ts'
import { defaultPolicy } from '../core/policy.ts'
import { RetomaError, say } from '../errors.ts'
import { defaultMemoryCap, type HeartSettings } from '../worker/pulse.ts'
import type { Registry } from './registry.ts'

export interface WorkOptions {
  /** Queue name to how many of its jobs run at once in this process. Default: every queue of the engine's jobs, 10 each. */
  queues?: Readonly<Record<string, number>>
  /** On stop, how long a handler may go on after its signal before its job is handed back. Default 5 s. */
  grace?: Duration
  /**
   * Bytes this process may have, such as megabytes(512). Above it a worker that is supervised ends itself and names the job; one
   * that is not tells. Default: three quarters of its container's memory, or of the machine's.
   */
  memory?: number
  /**
   * A job that blocks the main loop past its own timeout has the process killed. Default: only where a supervisor starts it
   * again, as `retoma worker` does.
   */
  killWhenHung?: boolean
}

/** Below it a worker that has done nothing would end itself. */
const leastMemory = 64_000_000

export function heartSettings(
  { memory, killWhenHung = false }: WorkOptions,
  url: string,
  registry: Registry,
): HeartSettings {
  const orphanAfter = Math.min(
    defaultPolicy.orphanAfter,
    ...[...registry.jobs.values()].map(job => job.policy.orphanAfter),
  )
  return { url, killWhenHung, memoryBytes: checkMemory(memory) ?? defaultMemoryCap(), silentMs: orphanAfter * 0.75 }
}

export function checkQueues(queues: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  for (const [queue, size] of Object.entries(queues)) {
    if (Number.isInteger(size) && size >= 1 && size <= 10_000) continue
    const problem = say(
      `concurrency is a whole number from 1 to 10000, not ${size}`,
      `a concorrência é um número inteiro de 1 a 10000, não ${size}`,
    )
    throw new RetomaError('bad_option', { option: `queues.${queue}`, problem })
  }
  return queues
}

export function checkMemory(memory: number | undefined): number | undefined {
  if (memory === undefined || (Number.isFinite(memory) && memory >= leastMemory)) return memory
  const problem = say(
    `it is a number of bytes from 64 MB on, such as megabytes(512), not ${memory}`,
    `é um número de bytes a partir de 64 MB, como megabytes(512), não ${memory}`,
  )
  throw new RetomaError('bad_option', { option: 'memory', problem })
}
