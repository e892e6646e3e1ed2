/** An attempt as a span: below the trace that enqueued its job, with what became of it. */
import type { Ended } from '../core/outcome.ts'
import { openSpan, type Span } from '../lib/trace.ts'
import type { Claimed } from '../store/claim.ts'
import type { Away } from './away.ts'
import type { AttemptEnd } from './ending.ts'

/** Undefined: nobody traces. */
export const spanOf = ({ id, attempt, kind, queue, trace }: Claimed): Span | undefined =>
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

/** One that failed is told as such, also when it is tried again. */
export function closeSpan(span: Span, end: AttemptEnd, ended: Ended | Away): void {
  span.note('retoma.job.outcome', end.state)
  const failure = 'failure' in end ? end.failure : null
  if (failure === null) span.end()
  else span.end({ message: failure.message, ...('thrown' in ended ? { thrown: ended.thrown } : {}) })
}
