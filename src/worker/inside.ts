/**
 * Who is inside of whose transaction. Steps, sleeps and the like cannot be used there: they are written on other connections,
 * which would wait for the transaction's locks while it waits for them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { doNotRetry } from '../core/outcome.ts'
import { RetomaError } from '../errors.ts'

const inside = new AsyncLocalStorage<{ attempt: object; step: string }>()

let open = 0

// Switched off while no transaction is open: Node 20 follows every promise of the process for it, which makes all jobs slower.
export async function runInside<T>(attempt: object, step: string, work: () => Promise<T>): Promise<T> {
  open++
  try {
    return await inside.run({ attempt, step }, work)
  } finally {
    if (--open === 0) inside.disable()
  }
}

/** Throws when it is called from inside a transaction of the same attempt. */
export function refuseInside(attempt: object, what: string): void {
  const at = inside.getStore()
  if (at?.attempt === attempt)
    throw doNotRetry(new RetomaError('in_transaction', { what: `ctx.${what}`, step: at.step }))
}
