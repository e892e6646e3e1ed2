/**
 * The handler of generate-schedule. Runs in a process of its own (`isolation: 'process'`), with a memory limit, and the solver in a thread of
 * the process: a solver that leaks, loops or crashes costs a single job.
 *
 * Invariant: the handler ends at most some seconds after `time_limit_seconds`, with a schedule or with the reason. When the worker stops, the
 * solver ends at once, and the job runs again elsewhere.
 */
import { Worker } from 'node:worker_threads'
import { type JobContext, RetomaError } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import { conflictText } from './conflict-text.ts'
import type { Problem } from './problem.ts'
import type { Schedule, Solved, SolverProgress } from './solve.ts'
import type { ThreadMessage } from './solver-thread.ts'

const thread = new URL('./solver-thread.js', import.meta.url)

export default async (ctx: JobContext, problem: Problem): Promise<Schedule> => {
  const total = problem.time_limit_seconds
  await ctx.progress({ done: 0, total, note: 'montando o problema' })
  const solved = await solveInThread(problem, ctx.signal, progress => {
    // Progress is for people; a lost note is no failure of the job.
    ctx.progress(noteOf(progress, total)).catch(() => {})
  })
  if (!('schedule' in solved)) throw troubleOf(solved, problem)
  const { cost, gap_percent } = solved.schedule
  await ctx.progress({ done: total, total, note: 'escala pronta', cost, gap_percent }).catch(() => {})
  return solved.schedule
}

function noteOf(progress: SolverProgress, total: number) {
  if ('searched' in progress) {
    const note = 'nenhuma escala cumpre todas as regras; procurando quais colidem'
    return { done: progress.searched, total: progress.rules, note }
  }
  const { seconds, cost, gapPercent } = progress
  const note =
    cost === null || gapPercent === null
      ? 'procurando a primeira escala'
      : `escala encontrada; diferença para a melhor possível: até ${gapPercent.toFixed(1).replace('.', ',')} %`
  return { done: Math.min(Math.floor(seconds), total), total, note, cost, gap_percent: gapPercent }
}

function troubleOf(solved: Exclude<Solved, { schedule: Schedule }>, problem: Problem): Error {
  switch (solved.trouble) {
    case 'infeasible':
      return failed(new RetomaError(errors.schedule_infeasible, { conflict: conflictText(solved.conflict, problem) }))
    case 'no_time':
      return failed(new RetomaError(errors.schedule_no_time, { seconds: problem.time_limit_seconds }))
    case 'too_large':
      return failed(new RetomaError(errors.schedule_too_large, { columns: solved.columns, most: solved.most }))
  }
}

async function solveInThread(
  problem: Problem,
  signal: AbortSignal,
  progress: (progress: SolverProgress) => void,
): Promise<Solved> {
  signal.throwIfAborted()
  const solver = new Worker(thread, { workerData: problem })
  const stop = () => void solver.terminate()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise<Solved>((resolve, reject) => {
      solver.on('message', (message: ThreadMessage) => {
        if ('solved' in message) resolve(message.solved)
        else progress(message.progress)
      })
      solver.once('error', reject)
      solver.once('exit', code => reject(signal.aborted ? signal.reason : new Error(`the solver ended with ${code}`)))
    })
  } finally {
    signal.removeEventListener('abort', stop)
    await solver.terminate()
  }
}
