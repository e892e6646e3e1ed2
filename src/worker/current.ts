/**
 * Whose code is running right now: for the stack of a blocked loop, for an error that nobody caught, for process.exit.
 *
 * The first, synchronous part of a handler is known at no cost. What runs after its first await is followed only when asked:
 * Node 20 then follows every promise of the process, which makes quick jobs slower. Nothing is followed while none asked.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Current {
  readonly id: string
  readonly attempt: number
  readonly kind: string
}

const followed = new AsyncLocalStorage<Current>()
let open = 0
let starting: Current | undefined

/** Runs the handler of that job; `follow`: known after its first await, too. Without `follow` no promise is made here. */
export function runAs<T>(job: Current, follow: boolean, work: () => T | Promise<T>): T | Promise<T> {
  return follow ? runFollowed(job, work) : begin(job, work)
}

function begin<T>(job: Current, work: () => T): T {
  const before = starting
  starting = job
  try {
    return work()
  } finally {
    starting = before
  }
}

async function runFollowed<T>(job: Current, work: () => T | Promise<T>): Promise<T> {
  open++
  try {
    return await followed.run(job, () => begin(job, work))
  } finally {
    if (--open === 0) followed.disable()
  }
}

export const currentJob = (): Current | undefined => starting ?? followed.getStore()
