/**
 * Writes a problem as a mixed-integer program: a column for each person and possible cell (1: the person works there), a row for each rule.
 *
 * Invariant: a solution of the columns without shortages is a schedule that keeps every rule of `violations` (check.ts), which is written
 * without this file. A rule named in `without` is left out, to find the rules that collide (conflicts.ts).
 */
import type { ModelData } from 'highs'
import { dayMinutes } from './calendar.ts'
import { type Barrier, type Cell, Horizon, type Need } from './needs.ts'
import type { Problem, Shortage } from './problem.ts'

/** The rules in the words of conflicts.ts; the first three demand people, the others keep people away. */
export const demandRules = ['demand', 'skills', 'min_hours'] as const
export const limitRules = [
  'availability',
  'days_off',
  'shift_skill',
  'max_hours',
  'min_rest',
  'days_in_row',
  'nights',
  'one_shift_a_day',
] as const
export type Rule = (typeof demandRules)[number] | (typeof limitRules)[number]

/**
 * A larger problem fits neither the memory nor the time of a job: HiGHS checks its time limit between the parts of its work, and a part grows with
 * the program. 100 people, 28 days and the demand of each hour with ten skills are 8,400 cells, 7,392 needs and 380,000 entries.
 */
const limits = {
  /** People x days x shifts, without the cells that a person cannot take: the columns of the program. */
  cells: 60_000,
  /** The schedule lists each need with the people needed and assigned. */
  needs: 10_000,
  /** Numbers of the matrix: a column in a row. */
  entries: 2_000_000,
} as const

export interface TooLarge {
  what: keyof typeof limits
  most: number
}

class ModelFull extends Error {
  readonly what: keyof typeof limits
  constructor(what: keyof typeof limits) {
    super(`more than ${limits[what]} ${what}`)
    this.what = what
  }
}

/** The last week may be shorter than seven days: its hours are in proportion. */
const leastHours = (minHoursWeek: number, days: readonly number[]): number => (minHoursWeek * days.length) / 7

const shortageCost = 1000
const avoidCost = 4
const otherCost = 1

interface Column extends Cell {
  person: number
}

export interface ModelOptions {
  /** Rules that are left out. */
  without?: ReadonlySet<Rule>
  /** true: the needs may stay uncovered, at a high cost. */
  elastic?: boolean
  /** true: every schedule costs the same, for the question whether there is one. */
  anySchedule?: boolean
}

export interface ScheduleModel {
  horizon: Horizon
  /** The first columns of the program. */
  columns: readonly Column[]
  /** The columns after `columns`: what is missing of a need, or of the hours of a person. */
  shortages: readonly (Need | { person: number; week: number })[]
  data: ModelData
}

/** Collects columns and rows. */
class Program {
  readonly costs: number[] = []
  readonly uppers: number[] = []
  readonly whole: number[] = []
  readonly lowers: number[] = []
  readonly tops: number[] = []
  readonly starts: number[] = [0]
  readonly indices: number[] = []
  readonly values: number[] = []

  /** Returns the index of the column. */
  column(cost: number, upper: number, isWhole: boolean): number {
    this.costs.push(cost)
    this.uppers.push(upper)
    this.whole.push(isWhole ? 1 : 0)
    return this.costs.length - 1
  }

  row(lower: number, upper: number, entries: readonly (readonly [column: number, value: number])[]): void {
    for (const [column, value] of entries) {
      this.indices.push(column)
      this.values.push(value)
    }
    if (this.indices.length > limits.entries) throw new ModelFull('entries')
    this.starts.push(this.indices.length)
    this.lowers.push(lower)
    this.tops.push(upper)
  }

  get data(): ModelData {
    const [numCols, numRows] = [this.costs.length, this.lowers.length]
    return {
      numCols,
      numRows,
      colCost: Float64Array.from(this.costs),
      colLower: new Float64Array(numCols),
      colUpper: Float64Array.from(this.uppers),
      rowLower: Float64Array.from(this.lowers),
      rowUpper: Float64Array.from(this.tops),
      matrix: {
        format: 'csr',
        numRows,
        numCols,
        starts: Int32Array.from(this.starts),
        indices: Int32Array.from(this.indices),
        values: Float64Array.from(this.values),
      },
      integrality: Int32Array.from(this.whole),
    }
  }
}

const endless = Number.POSITIVE_INFINITY
const one = (column: number) => [column, 1] as const

/** Stops at the first limit that the problem exceeds. */
export function modelOf(problem: Problem, options: ModelOptions = {}): ScheduleModel | { tooLarge: TooLarge } {
  try {
    return build(problem, options)
  } catch (error) {
    if (error instanceof ModelFull) return { tooLarge: { what: error.what, most: limits[error.what] } }
    throw error
  }
}

function build(problem: Problem, options: ModelOptions): ScheduleModel {
  const { without = new Set<Rule>(), elastic = problem.allow_shortage, anySchedule = false } = options
  const horizon = new Horizon(problem)
  if (horizon.needs.length > limits.needs) throw new ModelFull('needs')
  const program = new Program()
  const has = (rule: Rule) => !without.has(rule)

  const columns: Column[] = []
  /** The column of a person and a cell. */
  const at = problem.people.map(() => horizon.dates.map(() => new Map<number, number>()))
  for (const [person, { prefers, avoids }] of problem.people.entries())
    for (const day of horizon.dates.keys())
      for (const [shift, { hours, name }] of horizon.shifts.entries()) {
        if (horizon.barriers(person, { day, shift }).some((barrier: Barrier) => has(barrier))) continue
        const wish = avoids.includes(name) ? avoidCost : prefers.length > 0 && !prefers.includes(name) ? otherCost : 0
        at[person]![day]!.set(shift, program.column(anySchedule ? 0 : hours + wish, 1, true))
        columns.push({ person, day, shift })
        if (columns.length > limits.cells) throw new ModelFull('cells')
      }
  const shortages: (Need | { person: number; week: number })[] = []

  const cellsOf = (person: number, day: number) => [...(at[person]?.[day] ?? [])]
  const hoursOf = (person: number, days: readonly number[]) =>
    days.flatMap(day => cellsOf(person, day).map(([shift, column]) => [column, horizon.shifts[shift]!.hours] as const))

  for (const need of horizon.needs) {
    if (!has(need.skill === null ? 'demand' : 'skills')) continue
    const entries = [...problem.people.keys()].flatMap(person =>
      horizon.hasSkill(person, need.skill)
        ? need.cells.flatMap(({ day, shift }) => {
            const column = at[person]![day]!.get(shift)
            return column === undefined ? [] : [one(column)]
          })
        : [],
    )
    if (elastic) {
      shortages.push(need)
      entries.push(one(program.column(shortageCost, need.people, true)))
    }
    program.row(need.people, endless, entries)
  }

  for (const [person, { max_hours_week, min_hours_week }] of problem.people.entries())
    for (const [week, days] of horizon.weeks.entries()) {
      const entries = hoursOf(person, days)
      const least = leastHours(min_hours_week, days)
      if (has('max_hours')) program.row(-endless, max_hours_week, entries)
      if (!has('min_hours') || least === 0) continue
      if (elastic) {
        shortages.push({ person, week })
        entries.push(one(program.column(shortageCost / 8, least, false)))
      }
      program.row(least, endless, entries)
    }

  const { min_rest_hours, max_days_in_row, max_nights_per_week } = problem.rules
  const rest = has('min_rest') ? min_rest_hours * 60 : 0
  for (const person of problem.people.keys()) {
    for (const day of horizon.dates.keys()) {
      const today = cellsOf(person, day)
      if (has('one_shift_a_day') && today.length > 1)
        program.row(
          -endless,
          1,
          today.map(([, column]) => one(column)),
        )
      for (const [shift, column] of today) {
        const { start, end } = horizon.shifts[shift]!
        // A shift of at most 24 h and a rest of at most 48 h reach into the third day after the shift.
        for (let later = 0; later <= 3; later++) {
          const near = cellsOf(person, day + later).filter(([other]) => {
            const from = later * dayMinutes + horizon.shifts[other]!.start
            const isAfter = from > start || (from === start && (later > 0 || other > shift))
            return isAfter && from - end < rest
          })
          if (near.length === 0) continue
          // One row for all shifts of the later day, if the person works at most one of them.
          if (has('one_shift_a_day') && later > 0)
            program.row(-endless, 1, [one(column), ...near.map(([, other]) => one(other))])
          else for (const [, other] of near) program.row(-endless, 1, [one(column), one(other)])
        }
      }
    }
    if (has('days_in_row')) daysInRow(program, horizon, day => cellsOf(person, day), max_days_in_row)
    if (max_nights_per_week !== undefined && has('nights'))
      for (const days of horizon.weeks) {
        const nights = days.flatMap(day => cellsOf(person, day).filter(([shift]) => horizon.shifts[shift]!.night))
        if (nights.length > max_nights_per_week)
          program.row(
            -endless,
            max_nights_per_week,
            nights.map(([, column]) => one(column)),
          )
      }
  }

  if (problem.balance_hours && !anySchedule) {
    const longest = program.column(1, endless, false)
    for (const person of problem.people.keys()) {
      const worked = hoursOf(person, [...horizon.dates.keys()]).map(([column, hours]) => [column, -hours] as const)
      if (worked.length > 0) program.row(0, endless, [[longest, 1], ...worked])
    }
  }
  return { horizon, columns, shortages, data: program.data }
}

/** At least a free day in any `most` + 1 days. Without the rule of one shift a day, a day with two shifts counts once. */
function daysInRow(
  program: Program,
  horizon: Horizon,
  cellsOf: (day: number) => [number, number][],
  most: number,
): void {
  const days = horizon.dates.length
  for (let from = 0; from + most < days; from++) {
    const entries = Array.from({ length: most + 1 }, (_, index) => cellsOf(from + index))
      .flat()
      .map(([, column]) => one(column))
    if (entries.length > most) program.row(-endless, most, entries)
  }
}

/** The cells that a solution assigns. */
export const assignedCells = ({ columns }: ScheduleModel, values: Float64Array): Column[] =>
  columns.filter((_, column) => values[column]! > 0.5)

/** Counts the people of the assigned cells that serve a need. */
export function servingIn(horizon: Horizon, assigned: readonly Column[]): (need: Need) => number {
  const peopleAt = horizon.dates.map(() => horizon.shifts.map((): number[] => []))
  for (const { day, shift, person } of assigned) peopleAt[day]![shift]!.push(person)
  return ({ skill, cells }) => {
    const present = cells.flatMap(({ day, shift }) => peopleAt[day]![shift]!)
    return new Set(present.filter(person => horizon.hasSkill(person, skill))).size
  }
}

/**
 * The shortages of a solution, in the words of the problem. Counted from the assigned cells: in a solution that is not the best, the columns
 * of the shortages may be higher than necessary.
 */
export function shortagesOf(model: ScheduleModel, values: Float64Array): Shortage[] {
  const { horizon, shortages } = model
  const { problem, dates, shifts, weeks } = horizon
  const assigned = assignedCells(model, values)
  const hoursMissing = (person: number, days: readonly number[]): number => {
    const own = assigned.filter(each => each.person === person && days.includes(each.day))
    const hours = own.reduce((sum, { shift }) => sum + shifts[shift]!.hours, 0)
    return leastHours(problem.people[person]!.min_hours_week, days) - hours
  }
  const serving = servingIn(horizon, assigned)
  return shortages.flatMap((need): Shortage[] => {
    if ('person' in need) {
      const missing = Math.round(hoursMissing(need.person, weeks[need.week]!) * 100) / 100
      const { name } = problem.people[need.person]!
      return missing < 0.01 ? [] : [{ person: name, week_of: dates[weeks[need.week]![0]!]!, missing }]
    }
    const missing = need.people - serving(need)
    const shift = need.shift === null ? null : shifts[need.shift]!.name
    return missing <= 0 ? [] : [{ date: dates[need.day]!, shift, hour: need.hour, skill: need.skill, missing }]
  })
}
