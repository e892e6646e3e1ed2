/**
 * Finds the rules that collide in a problem without a schedule, for the words of conflict-text.ts.
 *
 * A schedule without any work keeps every rule that keeps people away, so a rule that demands people is always part of the collision. The
 * search leaves out a rule at a time: if there is still no schedule, the rule is not needed for the collision and stays out. The remaining
 * rules collide, and any one of them less, the others fit. A second program keeps all limits, covers as much of the demand as possible, and
 * shows the places that stay uncovered.
 */
import { demandRules, limitRules, type ModelOptions, type Rule, type ScheduleModel } from './model.ts'
import type { Problem, Shortage } from './problem.ts'
import type { Answer } from './solve.ts'

export interface Conflict {
  /** Rules that collide, in the order of the search. */
  rules: Rule[]
  /** false: the time was up before the proof that every rule of the list is needed. */
  isProved: boolean
  /** Places that stay uncovered by a schedule that keeps all limits and covers the most that was found in time. */
  places: (Shortage | MissingHours)[]
}

/** Hours that are missing to the minimum of a person in a week. */
interface MissingHours {
  person: string
  week_of: string
  missing: number
}

/**
 * Of several collisions the list names the rules at the end of this order. A problem cannot change the rule of one shift a day, so this rule
 * counts while the search decides about all others, and the list names the rule only if the others need it.
 */
const searchOrder: readonly Rule[] = [
  'shift_skill', 'days_off', 'availability', 'days_in_row', 'nights', 'min_rest', 'max_hours', 'min_hours', 'skills',
  'demand', 'one_shift_a_day',
] // biome-ignore format: in the order of the search

export function conflictsOf(
  problem: Problem,
  ask: (options: ModelOptions) => Answer & { model: ScheduleModel },
  progress: (searched: number, rules: number) => void,
): Conflict {
  const left = new Set<Rule>()
  let isProved = true
  for (const [searched, rule] of searchOrder.entries()) {
    progress(searched, searchOrder.length)
    const { status } = ask({ without: new Set([...left, rule]), elastic: false, anySchedule: true })
    if (status === 'infeasible') left.add(rule)
    else if (status === 'time_limit') isProved = false
  }
  progress(searchOrder.length, searchOrder.length)
  const rules = [...demandRules, ...limitRules].filter(rule => !left.has(rule))
  return { rules, isProved, places: placesOf(problem, ask({ elastic: true, anySchedule: true })) }
}

function placesOf(problem: Problem, { values, model }: Answer & { model: ScheduleModel }): Conflict['places'] {
  if (values === null) return []
  const { dates, shifts, weeks } = model.horizon
  return model.shortages.flatMap((need, index): Conflict['places'] => {
    const missing = Math.round(values[model.columns.length + index]! * 100) / 100
    if (missing < 0.01) return []
    if ('person' in need)
      return [{ person: problem.people[need.person]!.name, week_of: dates[weeks[need.week]![0]!]!, missing }]
    const shift = need.shift === null ? null : shifts[need.shift]!.name
    return [{ date: dates[need.day]!, shift, hour: need.hour, skill: need.skill, missing }]
  })
}
