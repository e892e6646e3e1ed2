/**
 * Kinds that only the program itself makes jobs of: those of the engine (`retoma.…`) and those defined with `internal: true`, such as the
 * kinds of a system. A handler of such a kind trusts its input: a notice is signed and sent as its job says.
 *
 * Invariant: no request makes a job of such a kind, and none runs one that has ended well once more. To retry one that failed is
 * safe, because its input is the program's own.
 */
import { type AnyJob, isInternalKind } from '../core/job.ts'
import type { Engine } from '../engine.ts'
import { RetomaError } from '../errors.ts'

export function refuseInternal({ kind, internal }: Pick<AnyJob, 'kind' | 'internal'>): void {
  if (internal) throw new RetomaError('internal_kind', { kind })
}

/** Of a job that exists, whose kind this process may not know. */
export function refuseInternalKind(engine: Engine, kind: string): void {
  refuseInternal(engine.kinds().find(each => each.kind === kind) ?? { kind, internal: isInternalKind(kind) })
}
