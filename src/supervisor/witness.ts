/**
 * In a supervised process: names the job that ends it, where its async context can tell (worker/current.ts). An error that
 * nobody caught, a rejection that nobody handled, process.exit by a handler; a death without a name is unexplained.
 *
 * Invariant: it only looks. The process ends as it would without it: same message, same exit code.
 */
import { type Culprit, restartCode } from '../core/death.ts'
import { isMarked } from './marks.ts'
import { nameCulprit } from './papers.ts'

export interface WitnessOptions {
  papers: string
  /** Whose code is running right now. */
  current: () => { id: string; attempt: number } | undefined
}

/** Answers how to look away again. */
export function witness({ papers, current }: WitnessOptions): () => void {
  const name = (how: Culprit['how'], message: string, stack: string | null) => {
    const job = current()
    if (job !== undefined) nameCulprit(papers, { job: job.id, attempt: job.attempt, how, message, stack })
  }
  // Told before a listener that may keep the process alive: then nothing ends, and if that one calls process.exit we hear it.
  const uncaught = (error: unknown) => {
    if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return
    if (error instanceof Error) name('uncaught', `${error.name}: ${error.message}`, error.stack ?? null)
    else name('uncaught', textOf(error), null)
  }
  const exit = (code: number) => {
    // Who is on the way out, by order or to be started again, ends nothing that was to go on.
    if (code !== restartCode && !isMarked(papers, 'asked'))
      name('exit', `exit code ${code}`, new Error('process.exit').stack ?? null)
  }
  process.on('uncaughtExceptionMonitor', uncaught)
  process.on('exit', exit)
  return () => {
    process.off('uncaughtExceptionMonitor', uncaught)
    process.off('exit', exit)
  }
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that has no text'
  }
}
