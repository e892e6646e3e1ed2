/**
 * Runs the solver in a thread, and ends the thread that does not end by itself: HiGHS checks its time limit between the parts of its work, and a
 * part may be long.
 *
 * Invariant: the answer comes at most `overrunSeconds` after `time_limit_seconds`; if no schedule exists, at most `searchSeconds`,
 * `questionSeconds` and once more `overrunSeconds` later.
 */
import { Worker } from 'node:worker_threads'
import { questionSeconds, searchSeconds } from './conflicts.ts'
import type { Problem } from './problem.ts'
import type { Schedule, Solved, SolverProgress } from './solve.ts'
import type { ThreadMessage } from './solver-thread.ts'

const solverThread = new URL('./solver-thread.js', import.meta.url)
/** Of a busy machine: the start of the thread, the program, the check of the schedule, and a part of the solver's work. */
const overrunSeconds = 30

export interface ThreadOptions {
  signal: AbortSignal
  progress: (progress: SolverProgress) => void
  /** For tests: the module of the thread. */
  thread?: URL
  /** For tests: seconds beyond the limits of the solver, and of the search for colliding rules. */
  overrun?: number
  search?: number
}

export async function solveInThread(problem: Problem, options: ThreadOptions): Promise<Solved> {
  const { signal, progress, thread = solverThread } = options
  const { overrun = overrunSeconds, search = searchSeconds + questionSeconds } = options
  signal.throwIfAborted()
  const solver = new Worker(thread, { workerData: problem })
  const stop = () => void solver.terminate()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise<Solved>((resolve, reject) => {
      /** The answer, if the time is up before the answer of the thread. */
      let late: Exclude<Solved, { schedule: Schedule }> = { trouble: 'no_time' }
      let deadline: AbortSignal | undefined
      const allow = (seconds: number) => {
        const own = AbortSignal.timeout((seconds + overrun) * 1000)
        deadline = own
        own.addEventListener('abort', () => own === deadline && resolve(late), { once: true })
      }
      allow(problem.time_limit_seconds)
      solver.on('message', (message: ThreadMessage) => {
        if ('solved' in message) {
          resolve(message.solved)
          return
        }
        if ('remaining' in message.progress) {
          if (late.trouble === 'no_time') allow(search)
          const rules = [...message.progress.remaining]
          late = { trouble: 'infeasible', conflict: { rules, isProved: false, places: [] } }
        }
        progress(message.progress)
      })
      solver.once('error', reject)
      solver.once('exit', code => reject(signal.aborted ? signal.reason : new Error(`the solver ended with ${code}`)))
    })
  } finally {
    signal.removeEventListener('abort', stop)
    await solver.terminate()
  }
}
