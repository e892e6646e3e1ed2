/**
 * Refuses requests for internal kinds, of which only the program itself creates jobs: the kinds of the engine (`retoma.…`) and kinds
 * defined with `internal: true`, such as the kinds of a system. A handler of such a kind trusts its input: a notice is signed and sent as
 * its job says.
 *
 * Invariant: no request creates or reruns a job of an internal kind. Retrying a failed job is safe, because the input comes from the
 * program itself.
 */

import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { RetomaError } from '../../errors/errors.ts'
import { type AnyJob, isInternalKind } from '../../jobs/model/job.ts'

export function refuseInternal({ kind, internal }: Pick<AnyJob, 'kind' | 'internal'>): void {
  if (internal) throw new RetomaError('internal_kind', { kind })
}

/** For an existing job, whose kind this process may not know. */
export function refuseInternalKind(engine: Engine, kind: string): void {
  refuseInternal(
    internalsOf(engine)
      .kinds()
      .find(each => each.kind === kind) ?? { kind, internal: isInternalKind(kind) },
  )
}
