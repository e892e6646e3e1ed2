/**
 * The handler of generate-schedule. Runs in a process of its own (`isolation: 'process'`), with a memory limit, and the solver in a thread of
 * the process: a solver that leaks, loops or crashes costs a single job.
 *
 * Invariant: the handler ends with a schedule or with the reason, within the times of solve-in-thread.ts. When the worker stops, the solver
 * ends at once, and the job runs again elsewhere.
 */
import { type JobContext, localized, RetomaError } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import { conflictText } from './conflict-text.ts'
import type { Problem } from './problem.ts'
import type { Schedule, Solved, SolverProgress } from './solve.ts'
import { solveInThread } from './solve-in-thread.ts'

export default async (ctx: JobContext, problem: Problem): Promise<Schedule> => {
  const total = problem.time_limit_seconds
  await ctx.progress({ done: 0, total, note: 'montando o problema' })
  const solved = await solveInThread(problem, {
    signal: ctx.signal,
    progress: progress => {
      // Progress is for people; a lost note is no failure of the job.
      ctx.progress(noteOf(progress, total)).catch(() => {})
    },
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

const sizes = {
  cells: localized('combinations of person, day and shift', 'combinações de pessoa, dia e turno'),
  needs: localized(
    'demands (a shift or an hour of a day, and each of its skills)',
    'demandas (um turno ou uma hora de um dia, e cada habilidade dele)',
  ),
  entries: localized(
    'combinations of a demand or a rule with a person and a shift',
    'combinações de uma demanda ou regra com uma pessoa e um turno',
  ),
} as const

function troubleOf(solved: Exclude<Solved, { schedule: Schedule }>, problem: Problem): Error {
  switch (solved.trouble) {
    case 'infeasible':
      return failed(new RetomaError(errors.schedule_infeasible, { conflict: conflictText(solved.conflict, problem) }))
    case 'no_time':
      return failed(new RetomaError(errors.schedule_no_time, { seconds: problem.time_limit_seconds }))
    case 'too_large':
      return failed(new RetomaError(errors.schedule_too_large, { most: solved.most, what: sizes[solved.what] }))
  }
}
