/**
 * Checks a schedule against the rules of its problem, without the program that the solver saw: the handler refuses a schedule that breaks
 * a rule, and tests compare the solver with this file.
 */
import { dayMinutes, dayOf } from './calendar.ts'
import { type Cell, Horizon } from './needs.ts'
import type { Assignment, MissingPeople, Problem, Shortage } from './problem.ts'

/** The places where the schedule breaks a rule, for developers; empty: the schedule keeps all rules. `shortages` may stay uncovered. */
export function violations(
  problem: Problem,
  assignments: readonly Assignment[],
  shortages: readonly Shortage[] = [],
): string[] {
  const horizon = new Horizon(problem)
  const broken: string[] = []
  const worked = problem.people.map(({ name }) =>
    assignments
      .filter(each => each.person === name)
      .map(({ date, shift }): Cell => {
        const [day, index] = [
          dayOf(date)! - dayOf(problem.start)!,
          horizon.shifts.findIndex(each => each.name === shift),
        ]
        if (!(day >= 0 && day < problem.days) || index < 0)
          broken.push(`${name} works outside of the plan: ${date} ${shift}`)
        return { day, shift: index }
      })
      .sort((a, b) => startOf(horizon, a) - startOf(horizon, b)),
  )
  if (broken.length > 0) return broken
  for (const [person, cells] of worked.entries()) broken.push(...ofPerson(horizon, person, cells, shortages))
  const missing = new Map(shortages.flatMap(each => ('date' in each ? [[placeOf(each), each.missing]] : [])))
  const peopleAt = new Map<string, number[]>()
  for (const [person, cells] of worked.entries())
    for (const cell of cells) peopleAt.set(cellKey(cell), [...(peopleAt.get(cellKey(cell)) ?? []), person])
  for (const need of horizon.needs) {
    const people = new Set(need.cells.flatMap(cell => peopleAt.get(cellKey(cell)) ?? []))
    const present = [...people].filter(person => horizon.hasSkill(person, need.skill)).length
    const shift = need.shift === null ? null : horizon.shifts[need.shift]!.name
    const place = { date: horizon.dates[need.day]!, shift, hour: need.hour, skill: need.skill }
    if (present + (missing.get(placeOf(place)) ?? 0) < need.people)
      broken.push(`${place.date} ${shift ?? `${need.hour} h`}: ${present} of ${need.people} ${need.skill ?? 'people'}`)
  }
  return broken
}

const cellKey = ({ day, shift }: Cell): string => `${day} ${shift}`
const placeOf = ({ date, shift, hour, skill }: Omit<MissingPeople, 'missing'>): string =>
  JSON.stringify([date, shift, hour, skill])

const startOf = (horizon: Horizon, { day, shift }: Cell): number =>
  day * dayMinutes + (horizon.shifts[shift]?.start ?? 0)
const endOf = (horizon: Horizon, { day, shift }: Cell): number => day * dayMinutes + horizon.shifts[shift]!.end

function ofPerson(horizon: Horizon, person: number, cells: readonly Cell[], shortages: readonly Shortage[]): string[] {
  const { problem } = horizon
  const { name, max_hours_week, min_hours_week } = problem.people[person]!
  const { min_rest_hours, max_days_in_row, max_nights_per_week } = problem.rules
  const broken: string[] = []
  const days = new Set(cells.map(({ day }) => day))
  if (days.size < cells.length) broken.push(`${name} works two shifts on a day`)
  for (const cell of cells)
    for (const barrier of horizon.barriers(person, cell)) broken.push(`${name} works against ${barrier}`)
  for (const [index, cell] of cells.entries()) {
    const before = cells[index - 1]
    if (before !== undefined && startOf(horizon, cell) - endOf(horizon, before) < min_rest_hours * 60)
      broken.push(`${name} rests too short before ${horizon.dates[cell.day]}`)
  }
  for (let day = 0, row = 0; day < problem.days; day++) {
    row = days.has(day) ? row + 1 : 0
    if (row > max_days_in_row) broken.push(`${name} works more than ${max_days_in_row} days in a row`)
  }
  for (const week of horizon.weeks) {
    const ofWeek = cells.filter(({ day }) => week.includes(day))
    const hours = ofWeek.reduce((sum, { shift }) => sum + horizon.shifts[shift]!.hours, 0)
    const nights = ofWeek.filter(({ shift }) => horizon.shifts[shift]!.night).length
    if (hours > max_hours_week + 1e-6) broken.push(`${name} works ${hours} h in a week`)
    const known = shortages.find(
      each => 'person' in each && each.person === name && each.week_of === horizon.dates[week[0]!],
    )
    // A shortage is rounded to a hundredth of an hour.
    if (hours + (known?.missing ?? 0) < (min_hours_week * week.length) / 7 - 0.01)
      broken.push(`${name} works only ${hours} h in a week`)
    if (nights > (max_nights_per_week ?? 7)) broken.push(`${name} works ${nights} nights in a week`)
  }
  return broken
}
