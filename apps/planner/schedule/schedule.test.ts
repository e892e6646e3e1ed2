/** The solver beside an independent check of the rules, and beside all schedules of small problems. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { shifts, smallProblem } from '../test/door.ts'
import { violations } from './check.ts'
import { conflictText } from './conflict-text.ts'
import { Horizon } from './needs.ts'
import { type Assignment, type Problem, problem } from './problem.ts'
import { loadSolver, type Schedule, type Solved, type SolverProgress } from './solve.ts'

let solve: Awaited<ReturnType<typeof loadSolver>>
beforeAll(async () => {
  solve = await loadSolver()
})

const solved = (input: object): Solved => solve(problem.parse(input))

function scheduleOf(answer: Solved): Schedule {
  if (!('schedule' in answer)) throw new Error(answer.trouble)
  return answer.schedule
}

const wordsOf = (input: object): string => {
  const given = problem.parse(input)
  const answer = solve(given)
  if (!('trouble' in answer) || answer.trouble !== 'infeasible') throw new Error('there is a schedule')
  return conflictText(answer.conflict, given).pt
}

const subset = (names: readonly string[]) => fc.subarray([...names], { minLength: 0 })
const names = ['Ana', 'Bia', 'Caio', 'Davi', 'Eva', 'Fábio', 'Gil', 'Hugo']
const spans = [
  { name: 'A', start: '06:00', end: '14:00' },
  { name: 'B', start: '14:00', end: '22:00' },
  { name: 'C', start: '22:00', end: '06:00' },
  { name: 'D', start: '09:30', end: '13:30', skill: 'caixa' },
]

/** Problems of every rule, small enough for many of them. */
const problems = ({ people, days, most }: { people: number; days: number; most: number }) =>
  fc
    .record({
      days: fc.integer({ min: 1, max: days }),
      shifts: fc.subarray(spans, { minLength: 1, maxLength: most }),
      people: fc.array(
        fc.record({
          skills: subset(['caixa', 'chefe']),
          max_hours_week: fc.constantFrom(8, 16, 24, 44),
          min_hours_week: fc.constantFrom(0, 0, 0, 8),
          available: fc.option(
            fc.array(fc.record({ weekdays: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }) }), {
              minLength: 1,
              maxLength: 2,
            }),
            { nil: undefined, freq: 4 },
          ),
          days_off: fc.subarray(['2030-03-04', '2030-03-05', '2030-03-06']),
          wishes: fc.tuple(subset(['A', 'B']), subset(['C'])),
        }),
        { minLength: 1, maxLength: people },
      ),
      demand: fc.array(
        fc.record({
          at: fc.oneof(fc.constantFrom('A', 'B', 'C', 'D'), fc.integer({ min: 0, max: 23 })),
          people: fc.integer({ min: 0, max: 2 }),
          skills: fc.constantFrom({}, {}, { caixa: 1 }, { chefe: 1 }),
          weekday: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      rules: fc.record({
        min_rest_hours: fc.constantFrom(0, 8, 11, 24),
        max_days_in_row: fc.integer({ min: 1, max: 4 }),
        max_nights_per_week: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
      }),
      allow_shortage: fc.boolean(),
    })
    .map(({ people, demand, ...rest }): Problem => {
      const known = new Set(rest.shifts.map(({ name }) => name))
      const known_ = (list: readonly string[]) => list.filter(name => known.has(name))
      const asked = demand
        .filter(({ at }) => typeof at === 'number' || known.has(at))
        .map(({ at, ...more }) => ({ ...more, ...(typeof at === 'number' ? { hour: at } : { shift: at }) }))
      return problem.parse({
        ...JSON.parse(JSON.stringify(rest)),
        start: '2030-03-04',
        time_limit_seconds: 20,
        people: people.map(({ wishes: [prefers, avoids], ...person }, index) => ({
          ...JSON.parse(JSON.stringify(person)),
          name: names[index],
          prefers: known_(prefers),
          avoids: known_(avoids),
        })),
        demand: JSON.parse(JSON.stringify(asked.length > 0 ? asked : [{ shift: rest.shifts[0]!.name, people: 1 }])),
      })
    })

test('a schedule keeps every hard rule, in generated problems', () => {
  const ends = { schedule: 0, infeasible: 0 }
  fc.assert(
    fc.property(problems({ people: 8, days: 9, most: 4 }), given => {
      const answer = solve(given, { conflictSeconds: 5 })
      if (!('schedule' in answer)) {
        expect(answer.trouble).toBe('infeasible')
        expect(given.allow_shortage).toBe(false)
        ends.infeasible++
        return
      }
      ends.schedule++
      const { assignments, shortages } = answer.schedule
      expect(violations(given, assignments, shortages)).toEqual([])
      if (!given.allow_shortage) expect(shortages).toEqual([])
      for (const { assigned, needed, ...place } of answer.schedule.cover) {
        const { date, shift, hour, skill } = place
        const { missing = 0 } =
          shortages.find(each =>
            isDeepStrictEqual([each.date, each.shift, each.hour, each.skill], [date, shift, hour, skill]),
          ) ?? {}
        expect(assigned + missing).toBeGreaterThanOrEqual(needed)
      }
    }),
    { numRuns: 40, seed: 18 },
  )
  expect(ends.schedule).toBeGreaterThan(10)
  expect(ends.infeasible).toBeGreaterThan(5)
})

/** Every schedule of a problem with few cells, with its cost; the shortages of a schedule are what is missing. */
function* everySchedule(given: Problem): Generator<{ assignments: Assignment[]; cost: number }> {
  const horizon = new Horizon(given)
  const cells = given.people.flatMap(({ name, prefers, avoids }) =>
    horizon.dates.flatMap(date =>
      horizon.shifts.map(({ name: shift, hours }) => {
        const wish = avoids.includes(shift) ? 4 : prefers.length > 0 && !prefers.includes(shift) ? 1 : 0
        return { assignment: { date, shift, person: name }, cost: hours + wish }
      }),
    ),
  )
  for (let taken = 0; taken < 2 ** cells.length; taken++) {
    const chosen = cells.filter((_, index) => (taken >> index) & 1)
    yield {
      assignments: chosen.map(({ assignment }) => assignment),
      cost: chosen.reduce((sum, { cost }) => sum + cost, 0),
    }
  }
}

test('small problems: the cost is the lowest of all schedules, and "infeasible" means that there is none', () => {
  const ends = { schedule: 0, infeasible: 0 }
  fc.assert(
    fc.property(
      problems({ people: 2, days: 2, most: 2 }).map(given => ({ ...given, allow_shortage: false })),
      given => {
        let best = Number.POSITIVE_INFINITY
        for (const { assignments, cost } of everySchedule(given))
          if (cost < best && violations(given, assignments).length === 0) best = cost
        const answer = solve(given, { conflictSeconds: 5 })
        if (Number.isFinite(best)) {
          ends.schedule++
          expect(scheduleOf(answer)).toMatchObject({ status: 'optimal', cost: Math.round(best * 100) / 100 })
        } else {
          ends.infeasible++
          expect(answer).toMatchObject({ trouble: 'infeasible' })
        }
      },
    ),
    { numRuns: 40, seed: 18 },
  )
  expect(ends.schedule).toBeGreaterThan(10)
  expect(ends.infeasible).toBeGreaterThan(10)
})

test('the rules that collide are named with their numbers, and without any one of them there is a schedule', () => {
  const base = {
    ...smallProblem,
    days: 3,
    people: [{ name: 'Ana' }, { name: 'Bia' }],
    demand: [{ shift: 'Noite', people: 1 }],
  }
  expect(wordsOf({ ...base, rules: { max_nights_per_week: 1 } })).toMatch(
    /^a demanda de pessoas e o máximo de 1 noite por semana\. Faltam: 1 pessoa em 2030-03-0[456] Noite$/,
  )
  expect(wordsOf({ ...base, people: [{ name: 'Ana' }], rules: { min_rest_hours: 17 } })).toContain(
    'a demanda de pessoas e o descanso de 17 h entre turnos. Faltam: 1 pessoa em ',
  )
  expect(wordsOf({ ...base, people: [{ name: 'Ana', days_off: ['2030-03-05'] }] })).toBe(
    'a demanda de pessoas e as folgas pedidas. Faltam: 1 pessoa em 2030-03-05 Noite',
  )
  expect(wordsOf({ ...base, people: [{ name: 'Ana', max_hours_week: 16 }] })).toContain('o máximo de horas por semana')
  expect(wordsOf({ ...base, rules: { max_days_in_row: 1 }, people: [{ name: 'Ana' }] })).toContain(
    'nunca dois dias seguidos',
  )
  expect(wordsOf({ ...base, demand: [{ shift: 'Manhã', people: 1, skills: { chefe: 1 } }] })).toBe(
    'o mínimo de pessoas com uma habilidade. Faltam: 1 com a habilidade "chefe" em 2030-03-04 Manhã; 1 com a habilidade "chefe" em 2030-03-05 Manhã; 1 com a habilidade "chefe" em 2030-03-06 Manhã',
  )
  expect(
    wordsOf({ ...base, people: [{ name: 'Ana', min_hours_week: 60, max_hours_week: 60 }, { name: 'Bia' }] }),
  ).toContain('o mínimo de horas por semana')
})

test('a rule that nobody can change is no reason to name another rule, and what is missing counts with all rules', () => {
  // Seven shifts of 8 h are 56 h, and six days in a row 48 h.
  const given = { ...smallProblem, days: 7, people: [{ name: 'Ana', min_hours_week: 60, max_hours_week: 80 }] }
  expect(wordsOf({ ...given, demand: [{ shift: 'Manhã', people: 0 }] })).toBe(
    'o mínimo de horas por semana e um turno por pessoa e dia. Faltam: 12 h de Ana na semana de 2030-03-04',
  )
})

test('the search for the colliding rules reports its progress', () => {
  const told: SolverProgress[] = []
  const given = problem.parse({ ...smallProblem, demand: [{ shift: 'Noite', people: 9 }] })
  solve(given, { progress: progress => told.push(progress) })
  const searched = told.flatMap(each => ('searched' in each ? [each] : []))
  expect(searched[0]).toEqual({ searched: 0, rules: 11 })
  expect(searched.at(-1)).toEqual({ searched: 11, rules: 11 })
})

test('a demand that may stay uncovered stays uncovered as little as possible, and the schedule says where', () => {
  const given = { ...smallProblem, people: [{ name: 'Ana' }], allow_shortage: true }
  const { assignments, shortages, status } = scheduleOf(solved(given))
  expect(status).toBe('optimal')
  expect(assignments).toHaveLength(2)
  expect(shortages).toHaveLength(2)
  expect(violations(problem.parse(given), assignments, shortages)).toEqual([])
})

test('when the time is up, the best schedule so far comes with its gap, and progress was reported before', () => {
  const people = Array.from({ length: 40 }, (_, index) => ({
    name: `P${index}`,
    skills: index % 4 === 0 ? ['caixa'] : [],
    prefers: index % 3 === 0 ? ['Manhã'] : [],
    avoids: index % 5 === 0 ? ['Noite'] : [],
    max_hours_week: 40,
  }))
  const given = problem.parse({
    start: '2030-03-04',
    days: 14,
    people,
    shifts,
    demand: shifts.map(({ name }) => ({ shift: name, people: 7, skills: { caixa: 1 } })),
    rules: { max_nights_per_week: 3 },
    balance_hours: true,
    time_limit_seconds: 3,
  })
  const told: SolverProgress[] = []
  const answer = solve(given, { progress: progress => told.push(progress) })
  expect(told.length).toBeGreaterThan(0)
  if (!('schedule' in answer)) {
    // A slow machine finds none in so few seconds; the end is still one of the two.
    expect(answer).toEqual({ trouble: 'no_time' })
    return
  }
  const { status, gap_percent, assignments, shortages } = answer.schedule
  expect(status === 'feasible' ? gap_percent > 0 : gap_percent === 0).toBe(true)
  expect(violations(given, assignments, shortages)).toEqual([])
})

test('demand per hour counts every shift that lasts for the hour, also one that began the day before', () => {
  const given = {
    start: '2030-03-04',
    days: 2,
    people: [{ name: 'Ana' }, { name: 'Bia' }],
    shifts: [{ name: 'Noite', start: '22:00', end: '06:00' }],
    demand: [{ hour: 3, date: '2030-03-05', people: 2 }],
  }
  expect(scheduleOf(solved(given)).assignments).toEqual([
    { date: '2030-03-04', shift: 'Noite', person: 'Ana' },
    { date: '2030-03-04', shift: 'Noite', person: 'Bia' },
  ])
})

test('demand of every hour: the hours that only a shift of the day before the plan covers belong to the plan before', () => {
  const given = {
    start: '2030-03-04',
    days: 2,
    people: ['Ana', 'Bia', 'Caio', 'Davi'].map(name => ({ name })),
    shifts,
    demand: Array.from({ length: 24 }, (_, hour) => ({ hour, people: 1 })),
  }
  const { status, assignments } = scheduleOf(solved(given))
  expect(status).toBe('optimal')
  for (const date of ['2030-03-04', '2030-03-05'])
    expect(assignments.filter(each => each.date === date).map(({ shift }) => shift)).toEqual(
      shifts.map(({ name }) => name),
    )
  // An hour without any shift stays a demand that nobody can cover.
  expect(wordsOf({ ...given, shifts: [shifts[0]], demand: [{ hour: 3, people: 1 }] })).toBe(
    'a demanda de pessoas. Faltam: 1 pessoa em 2030-03-04 3 h; 1 pessoa em 2030-03-05 3 h',
  )
})

test('a problem that is too large for the memory is refused with its size', () => {
  const given = problem.parse({
    start: '2030-03-04',
    days: 62,
    people: Array.from({ length: 200 }, (_, index) => ({ name: `P${index}` })),
    shifts: Array.from({ length: 6 }, (_, index) => ({ name: `S${index}`, start: `0${index}:00`, end: '12:00' })),
    demand: [{ shift: 'S0', people: 1 }],
  })
  expect(solve(given)).toEqual({ trouble: 'too_large', columns: 62 * 200 * 6, most: 60_000 })
})
