/** Derives from a problem the days, the shifts as spans, the possible cells of a person, and the needs: the demand of each shift, hour and skill. */
import { dateOf, dayMinutes, dayOf, isNight, type Span, spanOf, weekdayOf } from './calendar.ts'
import type { Problem } from './problem.ts'

export interface Shift extends Span {
  name: string
  hours: number
  night: boolean
  skill: string | undefined
}

/** A shift on a day, by index. */
export interface Cell {
  day: number
  shift: number
}

/** At least `people` of the persons with the skill work in the cells. */
export interface Need {
  day: number
  /** null: of an hour. */
  shift: number | null
  hour: number | null
  skill: string | null
  people: number
  cells: Cell[]
}

/** Rules that keep a person from a cell. */
export type Barrier = 'availability' | 'days_off' | 'shift_skill'

export class Horizon {
  readonly problem: Problem
  readonly dates: readonly string[]
  readonly weekdays: readonly number[]
  readonly shifts: readonly Shift[]
  readonly needs: readonly Need[]
  readonly #skills: readonly ReadonlySet<string>[]

  constructor(problem: Problem) {
    this.problem = problem
    const first = dayOf(problem.start)!
    const days = Array.from({ length: problem.days }, (_, index) => first + index)
    this.#skills = problem.people.map(({ skills }) => new Set(skills))
    this.dates = days.map(dateOf)
    this.weekdays = days.map(weekdayOf)
    this.shifts = problem.shifts.map(({ name, start, end, night, skill }) => {
      const span = spanOf(start, end)
      return { ...span, name, skill, hours: (span.end - span.start) / 60, night: night ?? isNight(span) }
    })
    this.needs = this.dates.flatMap((_, day) => [...this.#needsOfShifts(day), ...this.#needsOfHours(day)])
  }

  /** The days of each week, by index: seven days from the first day on. */
  get weeks(): number[][] {
    const weeks: number[][] = []
    for (let from = 0; from < this.dates.length; from += 7)
      weeks.push(this.dates.slice(from, from + 7).map((_, index) => from + index))
    return weeks
  }

  /** null: any person. */
  hasSkill(person: number, skill: string | null): boolean {
    return skill === null || this.#skills[person]!.has(skill)
  }

  /** The rules that keep the person from the cell; empty: the person can work there. */
  barriers(person: number, { day, shift }: Cell): Barrier[] {
    const { available, days_off, skills } = this.problem.people[person]!
    const { start, end, skill } = this.shifts[shift]!
    const weekday = this.weekdays[day]!
    const isWithin = (available ?? [{}]).some(({ weekdays, from, to }) => {
      const isOn = (opened: number) => weekdays === undefined || weekdays.includes(opened)
      if (from === undefined && to === undefined) return isOn(weekday)
      const window = spanOf(from ?? '00:00', to ?? '24:00')
      const contains = (shiftStart: number, shiftEnd: number) => window.start <= shiftStart && shiftEnd <= window.end
      // A window past midnight, opened on the day before, contains the early shifts of this day.
      return (
        (isOn(weekday) && contains(start, end)) ||
        (isOn((weekday + 6) % 7) && contains(start + dayMinutes, end + dayMinutes))
      )
    })
    return [
      ...(isWithin ? [] : ['availability' as const]),
      ...(days_off.includes(this.dates[day]!) ? ['days_off' as const] : []),
      ...(skill === undefined || skills.includes(skill) ? [] : ['shift_skill' as const]),
    ]
  }

  /** The entry for this day: of the date, else of the weekday, else of every day. The last entry of a level wins. */
  #entryOf(day: number, isOf: (entry: Problem['demand'][number]) => boolean) {
    const entries = this.problem.demand.filter(isOf)
    return (
      entries.findLast(({ date }) => date === this.dates[day]) ??
      entries.findLast(({ weekday }) => weekday === this.weekdays[day]) ??
      entries.findLast(({ date, weekday }) => date === undefined && weekday === undefined)
    )
  }

  #needsOfShifts(day: number): Need[] {
    return this.shifts.flatMap(({ name }, shift) => {
      const entry = this.#entryOf(day, each => each.shift === name)
      return needsOf(entry, { day, shift, hour: null, cells: [{ day, shift }] })
    })
  }

  /**
   * A shift covers an hour if the shift lasts for the whole hour. The shift may have begun on the day before. Hours of the first day that only
   * a shift of the day before the plan covers are no need of this plan: nobody of this plan could work there.
   */
  #needsOfHours(day: number): Need[] {
    return Array.from({ length: 24 }, (_, hour) => hour).flatMap(hour => {
      const entry = this.#entryOf(day, each => each.hour === hour)
      const covering = [day, day - 1].flatMap(begun =>
        this.shifts.flatMap(({ start, end }, shift) => {
          const from = (day - begun) * dayMinutes + hour * 60
          return start <= from && from + 60 <= end ? [{ day: begun, shift }] : []
        }),
      )
      const cells = covering.filter(cell => cell.day >= 0)
      if (cells.length === 0 && covering.length > 0) return []
      return needsOf(entry, { day, shift: null, hour, cells })
    })
  }
}

function needsOf(entry: Problem['demand'][number] | undefined, of: Omit<Need, 'people' | 'skill'>): Need[] {
  if (entry === undefined) return []
  return [
    ...(entry.people > 0 ? [{ ...of, people: entry.people, skill: null }] : []),
    ...Object.entries(entry.skills).map(([skill, people]) => ({ ...of, people, skill })),
  ]
}
