/**
 * Checks a schedule against the raw problem, minute by minute on one time line, without any code of `schedule/`. The model and check.ts share
 * the reading of a problem (needs.ts), so a mistake of that reading is visible here alone.
 */
import type { Assignment, Problem, Shortage } from '../schedule/problem.ts'

const day = 1440
const minute = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))
const at = (date: string): number => Date.parse(`${date}T00:00:00Z`) / 60_000
const dateAt = (minutes: number): string => new Date(minutes * 60_000).toISOString().slice(0, 10)
const weekdayOf = (date: string): number => new Date(`${date}T00:00:00Z`).getUTCDay()

interface Worked {
  person: string
  date: string
  shift: string
  from: number
  to: number
}

/** Returns a sentence for each broken rule; an empty list: the schedule keeps all rules. */
export function brokenRules(
  problem: Problem,
  { assignments, shortages }: { assignments: readonly Assignment[]; shortages: readonly Shortage[] },
): string[] {
  const broken: string[] = []
  const first = at(problem.start)
  const dates = Array.from({ length: problem.days }, (_, index) => dateAt(first + index * day))
  const spanOn = (date: string, start: string, end: string) => {
    const from = at(date) + minute(start)
    const to = at(date) + minute(end)
    return { from, to: to <= from ? to + day : to }
  }
  const worked = assignments.map(({ person, date, shift }): Worked => {
    const { start, end } = problem.shifts.find(({ name }) => name === shift)!
    return { person, date, shift, ...spanOn(date, start, end) }
  })

  for (const person of problem.people) {
    const own = worked.filter(each => each.person === person.name).sort((a, b) => a.from - b.from)
    for (const { date, shift, from, to } of own) {
      const { skill } = problem.shifts.find(({ name }) => name === shift)!
      if (!dates.includes(date)) broken.push(`${person.name}: ${date} is not in the plan`)
      if (person.days_off.includes(date)) broken.push(`${person.name}: ${date} is a day off`)
      if (skill !== undefined && !person.skills.includes(skill)) broken.push(`${person.name}: no skill for ${shift}`)
      const opened = (person.available ?? [{}]).some(window =>
        [dateAt(at(date) - day), date].some(on => {
          if (window.weekdays !== undefined && !window.weekdays.includes(weekdayOf(on))) return false
          if (window.from === undefined && window.to === undefined) return on === date
          const open = spanOn(on, window.from ?? '00:00', window.to ?? '24:00')
          return open.from <= from && to <= open.to
        }),
      )
      if (!opened) broken.push(`${person.name}: not available on ${date} for ${shift}`)
    }
    for (const [index, { date, from }] of own.entries()) {
      if (index > 0 && from - own[index - 1]!.to < problem.rules.min_rest_hours * 60)
        broken.push(`${person.name}: too little rest before ${date}`)
      if (index > 0 && date === own[index - 1]!.date) broken.push(`${person.name}: two shifts on ${date}`)
    }
    const isBusy = (date: string) => own.some(each => each.date === date)
    for (const [index] of dates.entries()) {
      const row = dates.slice(index, index + problem.rules.max_days_in_row + 1)
      if (row.length > problem.rules.max_days_in_row && row.every(isBusy))
        broken.push(`${person.name}: too many days in a row from ${dates[index]}`)
    }
    for (let from = 0; from < dates.length; from += 7) {
      const week = dates.slice(from, from + 7)
      const ofWeek = own.filter(({ date }) => week.includes(date))
      const hours = ofWeek.reduce((sum, each) => sum + (each.to - each.from) / 60, 0)
      const missing = shortages.flatMap(each =>
        'person' in each && each.person === person.name && each.week_of === week[0] ? [each.missing] : [],
      )
      const least = (person.min_hours_week * week.length) / 7 - (missing[0] ?? 0)
      if (hours > person.max_hours_week) broken.push(`${person.name}: ${hours} h in the week of ${week[0]}`)
      if (hours < least - 0.01) broken.push(`${person.name}: only ${hours} h in the week of ${week[0]}`)
      const nights = ofWeek.filter(({ shift, date, from: start, to }) => {
        const { night } = problem.shifts.find(({ name }) => name === shift)!
        const overlaps = (on: number) => start < on + 300 && to > on
        return night ?? (overlaps(at(date)) || overlaps(at(date) + day))
      }).length
      if (nights > (problem.rules.max_nights_per_week ?? 7)) broken.push(`${person.name}: ${nights} nights`)
    }
  }

  for (const date of dates) {
    const places = [
      ...problem.shifts.map(({ name }) => ({ shift: name, hour: null })),
      ...Array.from({ length: 24 }, (_, hour) => ({ shift: null, hour })),
    ]
    for (const { shift, hour } of places) {
      const entry = problem.demand
        .map((each, index) => ({ each, index }))
        .filter(({ each }) => (shift === null ? each.hour === hour : each.shift === shift))
        .filter(({ each }) => each.date === undefined || each.date === date)
        .filter(({ each }) => each.weekday === undefined || each.weekday === weekdayOf(date))
        .sort((a, b) => levelOf(a.each) - levelOf(b.each) || a.index - b.index)
        .at(-1)?.each
      if (entry === undefined) continue
      const start = at(date) + (hour ?? 0) * 60
      const covers = (from: number, to: number) => from <= start && start + 60 <= to
      if (hour !== null && date === dates[0]) {
        // Only a shift of the day before the plan covers the hour: the hour belongs to the plan before.
        const onDay = (on: string) =>
          problem.shifts.some(each => {
            const { from, to } = spanOn(on, each.start, each.end)
            return covers(from, to)
          })
        if (!onDay(date) && onDay(dateAt(at(date) - day))) continue
      }
      const present = worked.filter(each =>
        hour === null ? each.date === date && each.shift === shift : covers(each.from, each.to),
      )
      for (const [skill, needed] of [[null, entry.people] as const, ...Object.entries(entry.skills)]) {
        const there = new Set(
          present
            .map(({ person }) => person)
            .filter(who => skill === null || problem.people.find(({ name }) => name === who)!.skills.includes(skill)),
        ).size
        const missing = shortages.flatMap(each =>
          'date' in each && each.date === date && each.shift === shift && each.hour === hour && each.skill === skill
            ? [each.missing]
            : [],
        )
        if (there + (missing[0] ?? 0) < needed)
          broken.push(`${date} ${shift ?? hour}: ${there} of ${needed} ${skill ?? 'people'}`)
        if (missing[0] !== undefined && there + missing[0] > needed)
          broken.push(`${date} ${shift ?? hour}: ${missing[0]} missing is too many`)
      }
    }
  }
  return broken
}

/** An entry of a date wins over an entry of a weekday, which wins over an entry of every day. */
const levelOf = ({ date, weekday }: Problem['demand'][number]): number =>
  date !== undefined ? 2 : weekday !== undefined ? 1 : 0
