/**
 * Runs an attempt in a child: builds the message for the child, and serves the child's requests to the database. The child runs its own
 * `Attempt` (src/isolation/child/child-runner.ts), so that handlers see the same context and end the same way everywhere.
 */

import { localized, RetomaError } from '../errors/errors.ts'
import type { ChildPool } from '../isolation/child-pool.ts'
import type { ChildTask, Nature } from '../isolation/child-protocol.ts'
import type { ChildRun } from '../isolation/child-run.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { Ended } from '../jobs/model/outcome.ts'
import { doNotRetry } from '../jobs/model/outcome.ts'
import type { Isolation } from '../jobs/model/policy.ts'
import type { Log } from '../lib/logging/log.ts'
import { encodeValue } from '../lib/values/value-codec.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptEnd } from './attempt-outcome.ts'

/** The outcome as the child reported it. */
export interface IsolatedAttempt {
  end: AttemptEnd
}

interface Given {
  childPool: ChildPool
  isolationMode: IsolationMode
  log: Log
  /** The database clock. */
  now: number
  /** The memory limit of the worker process: no child has more. */
  memoryBytes?: number | undefined
}

export function runIsolated(
  attempt: Attempt,
  isolation: Exclude<Isolation, 'inline'>,
  input: unknown,
  { childPool, isolationMode, log, now, memoryBytes: worker }: Given,
): { run: ChildRun; ended: Promise<Ended | IsolatedAttempt> } {
  const { claimed, job } = attempt
  const { policy } = job
  const facts = { job: claimed.id, kind: claimed.kind, attempt: claimed.attempt }
  const childTask: ChildTask = {
    job: { ...claimed, version: job.version, policy },
    claimed: { ...claimed, input: null, crash_suspicion: null, started_ms: now, trace: attempt.trace },
    input: textOf(job.kind, input),
    work: isolationMode.workOf(job)!,
  }
  // A thread shares the memory of this process, which has its own limit.
  const memoryBytes = policy.memoryBytes ?? (isolation === 'process' ? (worker ?? null) : null)
  // A kind with `inline` isolation runs here because of a crash suspicion. The handler was written for the full environment of a worker.
  const environment = policy.isolation === 'inline' ? 'all' : job.env
  const nature: Nature = { isolation, memoryBytes, environment, parentStoppedMs: policy.orphanAfter / 2 }
  const withFacts = log.child(facts)
  const run = childPool.run(childTask, nature, {
    began: () => attempt.allow(),
    storage: attempt.storage,
    isolate: (call, signal) => attempt.isolate(call, signal),
    log: (level, about, message) => attempt.writeLine(withFacts, level, about, message),
  })
  return { run, ended: run.ended.then(ended => known(ended, facts, log)) }
}

function known(ended: Awaited<ChildRun['ended']>, facts: Record<string, unknown>, log: Log): Ended | IsolatedAttempt {
  if ('end' in ended) return { end: ended.end as AttemptEnd }
  if (!('deferred' in ended)) return ended
  log.warn(
    { ...facts, why: ended.deferred },
    'the child process of this job ended, and the job is not the cause; the job is released',
  )
  return { end: { state: 'released' } }
}

/** Encodes the input. A schema may return any value; a value that the encoding would change is rejected. */
function textOf(kind: string, input: unknown): string {
  const encoded = encodeValue(input, { root: 'input' })
  if (encoded.ok) return encoded.text
  const what = localized(
    `the input of a ${kind} job, on its way to its child,`,
    `a entrada de um job ${kind}, a caminho do filho,`,
  )
  throw doNotRetry(new RetomaError('bad_value', { what, problem: encoded.problem }))
}
