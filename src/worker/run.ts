/**
 * One attempt, from claimed row to outcome. It touches no database: what it returns is settled by the worker.
 *
 * Invariant: it always ends. A handler that ignores its signal is left behind after a grace; whatever it does later
 * reaches nothing, because the outcome has been decided and the fence moves with it.
 */
import type { AnyJob, JobContext } from '../core/job.ts'
import { decide, doNotRetry, type Ended, type Outcome } from '../core/outcome.ts'
import { isRetomaError, RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'

export interface Attempt {
  claimed: Claimed
  job: AnyJob
  /** Aborted by the worker: lease lost, or shutting down. */
  stop: AbortController
}

export interface RunOptions {
  clock: Clock
  log: Log
  random: Random
  /** How long after its signal a handler may still end by itself. */
  graceMs: number
}

export type AttemptEnd = Outcome | { state: 'released' } | { state: 'lost' }

export async function runAttempt(
  { claimed, job, stop }: Attempt,
  { clock, log, random, graceMs }: RunOptions,
): Promise<AttemptEnd> {
  const over = new AbortController()
  const timeout = new RetomaError('attempt_timeout', {
    attempt: claimed.attempt,
    job: claimed.id,
    seconds: job.policy.timeout / 1000,
  })
  void clock.sleep(job.policy.timeout, over.signal).then(() => {
    if (!over.signal.aborted) stop.abort(timeout)
  })
  const context: JobContext = {
    id: claimed.id,
    attempt: claimed.attempt,
    signal: stop.signal,
    log: jobLog(log.child({ job: claimed.id, kind: claimed.kind, attempt: claimed.attempt })),
  }
  try {
    const ended = await Promise.race([
      handle(job, context, claimed.input),
      abandoned(stop.signal, over.signal, clock, graceMs),
    ])
    if ('thrown' in ended && stop.signal.aborted) {
      if (isRetomaError(stop.signal.reason, 'lease_lost')) return { state: 'lost' }
      if (isRetomaError(stop.signal.reason, 'worker_stopping')) return { state: 'released' }
      // Out of time: the timeout is the news; what the handler made of its signal is kept as the cause.
      if (ended.thrown !== timeout) timeout.cause = ended.thrown
      return decide(claimed, job.policy, { thrown: timeout, timedOut: true }, random())
    }
    return decide(claimed, job.policy, ended, random())
  } finally {
    over.abort()
  }
}

async function handle(job: AnyJob, context: JobContext, input: unknown): Promise<Ended> {
  try {
    const parsed = await job.parse(input)
    if ('problem' in parsed)
      return { thrown: doNotRetry(new RetomaError('bad_input', { kind: job.kind, problem: parsed.problem })) }
    return { returned: await job.run(context, parsed.value as never) }
  } catch (thrown) {
    return { thrown }
  }
}

/** Resolves, with the signal's own reason, once the signal has been out for longer than the grace. */
async function abandoned(stop: AbortSignal, over: AbortSignal, clock: Clock, graceMs: number): Promise<Ended> {
  await new Promise<void>(resolve => {
    if (stop.aborted) return resolve()
    stop.addEventListener('abort', () => resolve(), { once: true })
    over.addEventListener('abort', () => resolve(), { once: true })
  })
  if (!over.aborted) await clock.sleep(graceMs, over)
  return { thrown: stop.reason }
}

function jobLog(log: Log): JobContext['log'] {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, facts: Record<string, unknown> = {}) =>
      log[level](facts, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
