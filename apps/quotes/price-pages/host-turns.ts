/**
 * Limits the requests at once to each host within this process. The pipeline passes turns of the engine instead, which hold over all
 * workers; tests and single processes use these.
 */
import type { HostTurns } from '../providers/types.ts'

export const mostAtOnce = 2

export function localHostTurns(most = mostAtOnce): HostTurns {
  const taken = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()

  const leave = (host: string) => {
    const next = waiting.get(host)?.shift()
    if (next !== undefined) return next()
    const left = (taken.get(host) ?? 1) - 1
    if (left > 0) return taken.set(host, left)
    waiting.delete(host)
    return taken.delete(host)
  }

  return {
    enter: async (host, signal) => {
      signal.throwIfAborted()
      const count = taken.get(host) ?? 0
      if (count < most) taken.set(host, count + 1)
      else await turnOf(host, signal)
      let isLeft = false
      return () => {
        if (!isLeft) leave(host)
        isLeft = true
      }
    },
  }

  /** Resolves with a turn that another request gives back. */
  function turnOf(host: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = waiting.get(host) ?? []
      waiting.set(host, queue)
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
