/**
 * Finds the rules that collide in a problem without a schedule, for the words of conflict-text.ts.
 *
 * A schedule without any work keeps every rule that keeps people away, so a rule that demands people is always part of the collision. The
 * search leaves out a rule at a time: if there is still no schedule, the rule is not needed for the collision and stays out. The remaining
 * rules collide, and without any one of them a schedule exists. A second program covers as much of the demand as possible, and shows the
 * places that stay uncovered.
 */
import { demandRules, limitRules, type ModelOptions, type Rule, type ScheduleModel } from './model.ts'
import type { Problem, Shortage } from './problem.ts'
import type { Answer } from './solve.ts'

export interface Conflict {
  /** Rules that collide, in the order of the search. */
  rules: Rule[]
  /** false: the time was up before the proof that every rule of the list is needed. */
  isProved: boolean
  /** Places that stay uncovered, whatever the schedule: the most that can be covered leaves these. */
  places: (Shortage | MissingHours)[]
}

/** Hours that are missing to the minimum of a person in a week. */
interface MissingHours {
  person: string
  week_of: string
  missing: number
}

/** A person decides fastest about the rules at the front: these are tried last, so that the list names them. */
const searchOrder: readonly Rule[] = [
  'shift_skill', 'one_shift_a_day', 'days_off', 'availability', 'days_in_row', 'nights', 'min_rest', 'max_hours',
  'min_hours', 'skills', 'demand',
] // biome-ignore format: in the order of the search

export function conflictsOf(
  problem: Problem,
  ask: (options: ModelOptions) => Answer & { model: ScheduleModel },
): Conflict {
  const left = new Set<Rule>()
  let isProved = true
  for (const rule of searchOrder) {
    const { status } = ask({ without: new Set([...left, rule]), elastic: false, anySchedule: true })
    if (status === 'infeasible') left.add(rule)
    else if (status === 'time_limit') isProved = false
  }
  const rules = [...demandRules, ...limitRules].filter(rule => !left.has(rule))
  return { rules, isProved, places: placesOf(problem, ask({ elastic: true, anySchedule: true, without: left })) }
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
