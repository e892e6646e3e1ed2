/**
 * How a heart asks a stopped main thread whose code it is in: by a function that waits there under a name both know. It is
 * called while that thread stands still in the middle of the code, so it only reads.
 */
export const hookName = 'retoma.current'

/** The job whose code runs. */
export interface Running {
  id: string
  attempt: number
  kind: string
  /** Until it is out of time; below zero: since then. */
  leftMs: number
}

type Current = () => Running | undefined

const asked = new Set<Current>()

/** Until the answer is called. */
export function answerHeart(current: Current): () => void {
  if (asked.size === 0) install()
  asked.add(current)
  return () => void asked.delete(current)
}

/** There may be several copies of this package in a process: each answers for its own. */
function install(): void {
  const place = globalThis as unknown as Record<symbol, { (): string | undefined; ours?: typeof asked } | undefined>
  const name = Symbol.for(hookName)
  const before = place[name]
  if (before?.ours === asked) return
  const answer = () => {
    for (const current of asked) {
      const job = current()
      if (job !== undefined) return JSON.stringify(job)
    }
    return before?.()
  }
  place[name] = Object.assign(answer, { ours: asked })
}
