/** Waits without keeping a finished program alive: resolves after `ms` or when the signal aborts. */
export function unrefSleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    timer.unref()
    signal.addEventListener('abort', done, { once: true })
  })
}

/** Repeats `work` every `ms` until the caller calls the returned function. Does not keep the program alive either. */
export function whileIdle(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms)
  timer.unref()
  return () => clearInterval(timer)
}
