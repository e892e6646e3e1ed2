/**
 * Limits the work at the same time for each name within this process: programs, and requests to a host. The pipeline limits the requests to a
 * host over all workers (turns.ts); tests and single processes use these turns.
 */

export interface LocalTurns {
  /** Resolves once there is a turn, with the function that gives the turn back. Rejects with the reason of `signal`. */
  enter(name: string, signal: AbortSignal): Promise<() => void>
}

export function localTurns(most: number): LocalTurns {
  const taken = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()

  const leave = (name: string) => {
    const next = waiting.get(name)?.shift()
    if (next !== undefined) return next()
    const left = (taken.get(name) ?? 1) - 1
    if (left > 0) return taken.set(name, left)
    waiting.delete(name)
    return taken.delete(name)
  }

  return {
    enter: async (name, signal) => {
      signal.throwIfAborted()
      const count = taken.get(name) ?? 0
      if (count < most) taken.set(name, count + 1)
      else await turnOf(name, signal)
      let isLeft = false
      return () => {
        if (!isLeft) leave(name)
        isLeft = true
      }
    },
  }

  /** Resolves with a turn that another request gives back. */
  function turnOf(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = waiting.get(name) ?? []
      waiting.set(name, queue)
      const stop = () => {
        queue.splice(queue.indexOf(mine), 1)
        reject(signal.reason)
      }
      const mine = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      signal.addEventListener('abort', stop, { once: true })
      queue.push(mine)
    })
  }
}
