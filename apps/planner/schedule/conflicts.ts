/**
 * Finds the rules that collide in a problem without a schedule, for the words of conflict-text.ts.
 *
 * A schedule without any work keeps every rule that keeps people away, so a rule that demands people is always part of the collision. The
 * search leaves out a rule at a time: if there is still no schedule, the rule is not needed for the collision and stays out. The remaining
 * rules collide, and any one of them less, the others fit. A second program keeps all limits, covers as much of the demand as possible, and
 * shows the places that stay uncovered.
 */
import {
  demandRules,
  limitRules,
  type ModelOptions,
  modelOf,
  type Rule,
  type ScheduleModel,
  shortagesOf,
} from './model.ts'
import type { Problem, Shortage } from './problem.ts'
import type { Answer } from './solve.ts'

export interface Conflict {
  /** Rules that collide, in the order of the search. */
  rules: Rule[]
  /** false: the time was up before the proof that every rule of the list is needed. */
  isProved: boolean
  /** Places that stay uncovered by a schedule that keeps all limits and covers the most that was found in time. */
  places: Shortage[]
}

/**
 * Of several collisions the list names the rules at the end of this order. A problem cannot change the rule of one shift a day, so this rule
 * counts while the search decides about all others, and the list names the rule only if the others need it.
 */
export const searchOrder: readonly Rule[] = [
  'shift_skill', 'days_off', 'availability', 'days_in_row', 'nights', 'min_rest', 'max_hours', 'min_hours', 'skills',
  'demand', 'one_shift_a_day',
] // biome-ignore format: in the order of the search

/** Seconds of a question about colliding rules, and of the last question, which places stay uncovered. */
export const questionSeconds = 10
/** Seconds of all questions about colliding rules together. */
export const searchSeconds = 60

export interface SearchOptions {
  ask: (model: ScheduleModel, seconds: number) => Answer
  /** The rules that have no answer yet, or that the collision needs. */
  progress?: (searched: number, rules: readonly Rule[]) => void
}

export function conflictsOf(problem: Problem, { ask, progress = () => {} }: SearchOptions): Conflict {
  const left = new Set<Rule>()
  const remaining = () => [...demandRules, ...limitRules].filter(rule => !left.has(rule))
  let isProved = true
  let secondsLeft = searchSeconds
  const answer = (model: ScheduleModel): Answer['status'] => {
    if (secondsLeft <= 0) return 'time_limit'
    const { status, seconds } = ask(model, Math.min(questionSeconds, secondsLeft))
    secondsLeft -= seconds
    return status
  }
  const built = (options: ModelOptions) => {
    const model = modelOf(problem, { ...options, anySchedule: true })
    // Without a rule the program may be larger than a job can solve; the question stays without an answer.
    return 'tooLarge' in model ? undefined : model
  }
  let current = built({ elastic: false })
  for (const [searched, rule] of searchOrder.entries()) {
    progress(searched, remaining())
    const next = built({ elastic: false, without: new Set([...left, rule]) })
    const status = statusOf(current, next, answer)
    if (status === 'time_limit') isProved = false
    if (status !== 'infeasible') continue
    left.add(rule)
    current = next
  }
  progress(searchOrder.length, remaining())
  const elastic = built({ elastic: true })
  const values = elastic === undefined ? null : ask(elastic, questionSeconds).values
  return { rules: remaining(), isProved, places: values === null ? [] : shortagesOf(elastic!, values) }
}

/** `current` is infeasible. A rule without any effect in this problem needs no answer of the solver, which may come too late. */
function statusOf(
  current: ScheduleModel | undefined,
  next: ScheduleModel | undefined,
  answer: (model: ScheduleModel) => Answer['status'],
): Answer['status'] {
  if (next === undefined) return 'time_limit'
  if (current !== undefined && isSame(current, next)) return 'infeasible'
  return answer(next)
}

/** Compares the sizes: a program without a rule has more columns, or fewer rows, or fewer entries. */
const isSame = ({ data: a }: ScheduleModel, { data: b }: ScheduleModel): boolean =>
  a.numCols === b.numCols && a.numRows === b.numRows && a.matrix.indices.length === b.matrix.indices.length
