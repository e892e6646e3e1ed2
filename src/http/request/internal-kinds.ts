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

/** For an existing job, whose kind another process may have registered. */
export async function refuseInternalKind(engine: Engine, kind: string): Promise<void> {
  const { internal } = await internalsOf(engine).kindFlags()
  refuseInternal({ kind, internal: isInternalKind(kind) || internal.includes(kind) })
}
