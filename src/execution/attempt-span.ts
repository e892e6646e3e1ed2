/** Traces an attempt as a span below the trace of the enqueue, with the outcome. */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { Ended } from '../jobs/model/outcome.ts'
import { openSpan, type Span } from '../lib/trace.ts'
import type { AttemptEnd } from './attempt-outcome.ts'
import type { IsolatedAttempt } from './isolated-attempt.ts'

/** Undefined: tracing is off. */
export const spanOf = ({ id, attempt, kind, queue, trace }: ClaimedJob): Span | undefined =>
  openSpan(`job ${kind}`, () => ({
    parent: trace,
    consumer: true,
    attributes: {
      'messaging.system': 'retoma',
      'messaging.operation.type': 'process',
      'messaging.destination.name': queue,
      'retoma.job.id': id,
      'retoma.job.kind': kind,
      'retoma.job.attempt': attempt,
    },
  }))

/** Marks a failed attempt as failed, even if the job is retried. */
export function closeSpan(span: Span, end: AttemptEnd, ended: Ended | IsolatedAttempt): void {
  span.note('retoma.job.outcome', end.state)
  const failure = 'failure' in end ? end.failure : null
  if (failure === null) span.end()
  else span.end({ message: failure.message, ...('thrown' in ended ? { thrown: ended.thrown } : {}) })
}
