/**
 * Describes the input of generate-schedule: people, shifts, demand and rules. The route checks a request with the schema, and the handler
 * parses the stored input with the same schema.
 */
import { mostProperties } from 'retoma/http'
import { z } from 'zod'
import { dayOf } from './calendar.ts'

const name = z.string().trim().min(1).max(100)
/** Longer than any time or date, so that a mistake gets the sentence of its own. */
const longest = 100
const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/
const time = z
  .string()
  .max(longest)
  .refine(text => timePattern.test(text), {
    message: 'it is a time such as 07:30',
    params: { pt: 'deve ser um horário como 07:30' },
  })
  .meta({ pattern: timePattern.source })
const date = z
  .string()
  .max(longest)
  .refine(text => dayOf(text) !== undefined, {
    message: 'it is a date such as 2026-01-31',
    params: { pt: 'deve ser uma data como 2026-01-31' },
  })
const weekday = z.number().int().min(0).max(6).meta({ description: '0: Sunday, 6: Saturday' })
const hoursOfWeek = z.number().min(0).max(168)

const window = z.strictObject({
  weekdays: z.array(weekday).min(1).max(7).optional().meta({ description: 'omitted: every day' }),
  from: time.optional(),
  to: time
    .optional()
    .meta({ description: 'at or before `from`: on the next day, whose early shifts the window contains too' }),
})

const person = z.strictObject({
  name,
  skills: z.array(name).max(50).default([]),
  max_hours_week: hoursOfWeek.default(44),
  min_hours_week: hoursOfWeek.default(0),
  available: z
    .array(window)
    .max(50)
    .optional()
    .meta({ description: 'a shift must lie within one of these windows; omitted: always available' }),
  days_off: z.array(date).max(100).default([]),
  prefers: z.array(name).max(20).default([]).meta({ description: 'names of shifts' }),
  avoids: z.array(name).max(20).default([]).meta({ description: 'names of shifts' }),
})

const shift = z.strictObject({
  name,
  start: time,
  end: time.meta({ description: 'at or before `start`: on the next day' }),
  night: z.boolean().optional().meta({ description: 'omitted: true for a shift with hours between 0:00 and 5:00' }),
  skill: name.optional().meta({ description: 'every person of this shift needs this skill' }),
})

const demand = z
  .strictObject({
    shift: name.optional(),
    hour: z.number().int().min(0).max(23).optional(),
    date: date.optional(),
    weekday: weekday.optional(),
    people: z.number().int().min(0).max(200),
    skills: z.record(name, z.number().int().min(1).max(200)).register(mostProperties, { most: 50 }).default({}),
  })
  .refine(each => (each.shift === undefined) !== (each.hour === undefined), {
    message: 'either `shift` or `hour`',
    params: { pt: 'ou `shift` ou `hour`' },
    path: ['shift'],
  })
  .refine(each => each.date === undefined || each.weekday === undefined, {
    message: 'either `date` or `weekday`',
    params: { pt: 'ou `date` ou `weekday`' },
    path: ['weekday'],
  })
  .meta({
    description: 'of a shift or of an hour; a `date` wins over a `weekday`, and a `weekday` over an entry without both',
  })

const rules = z.strictObject({
  min_rest_hours: z.number().min(0).max(48).default(11),
  max_days_in_row: z.number().int().min(1).max(62).default(6),
  max_nights_per_week: z.number().int().min(0).max(7).optional(),
})

const mostPeople = 200
const mostDays = 62
const longestSolve = 300

const shape = z.strictObject({
  start: date.meta({ description: 'first day' }),
  days: z.number().int().min(1).max(mostDays).default(7),
  people: z.array(person).min(1).max(mostPeople),
  shifts: z.array(shift).min(1).max(20),
  demand: z.array(demand).min(1).max(5000),
  rules: rules.prefault({}),
  allow_shortage: z
    .boolean()
    .default(false)
    .meta({ description: 'true: the demand may stay uncovered, as little as possible' }),
  balance_hours: z.boolean().default(false).meta({ description: 'true: the longest working time is short' }),
  time_limit_seconds: z.number().int().min(1).max(longestSolve).default(60),
})

export const problem = shape.superRefine((given, context) => {
  const refuse = (path: (string | number)[], message: string, pt: string) =>
    context.addIssue({ code: 'custom', path, message, params: { pt }, input: given })
  const shifts = new Set(given.shifts.map(each => each.name))
  const noShift = (path: (string | number)[], name: string) =>
    refuse(path, `there is no shift "${name}"`, `não existe o turno "${name}"`)
  repeated(given.people, (index, who) =>
    refuse(['people', index, 'name'], `two people are named "${who}"`, `duas pessoas têm o nome "${who}"`),
  )
  repeated(given.shifts, (index, what) =>
    refuse(['shifts', index, 'name'], `two shifts are named "${what}"`, `dois turnos têm o nome "${what}"`),
  )
  for (const [index, each] of given.shifts.entries())
    if (each.start === '24:00')
      refuse(['shifts', index, 'start'], 'a shift starts before 24:00', 'um turno começa antes das 24:00')
  for (const [index, each] of given.demand.entries())
    if (each.shift !== undefined && !shifts.has(each.shift)) noShift(['demand', index, 'shift'], each.shift)
  for (const [index, each] of given.people.entries()) {
    for (const list of ['prefers', 'avoids'] as const)
      for (const [at, wished] of each[list].entries())
        if (!shifts.has(wished)) noShift(['people', index, list, at], wished)
    if (each.min_hours_week > each.max_hours_week)
      refuse(['people', index, 'min_hours_week'], 'it is more than max_hours_week', 'é mais que max_hours_week')
  }
})

function repeated(named: readonly { name: string }[], found: (index: number, name: string) => void): void {
  const seen = new Set<string>()
  for (const [index, { name }] of named.entries()) {
    if (seen.has(name)) found(index, name)
    seen.add(name)
  }
}

export type Problem = z.output<typeof problem>

export interface Assignment {
  date: string
  shift: string
  person: string
}

/** People that are missing for a demand. */
export interface MissingPeople {
  date: string
  /** null: of an hour. */
  shift: string | null
  hour: number | null
  /** null: people of any skill. */
  skill: string | null
  missing: number
}

/** Hours that are missing to the minimum of a person in a week. */
interface MissingHours {
  person: string
  /** The first day of the week. */
  week_of: string
  missing: number
}

/** What a schedule with `allow_shortage` leaves open. */
export type Shortage = MissingPeople | MissingHours
