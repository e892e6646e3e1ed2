/** The solver beside an independent check of the rules, and beside all schedules of small problems. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { longProblem, shifts, smallProblem } from '../test/door.ts'
import { brokenRules } from '../test/raw-rules.ts'
import { violations } from './check.ts'
import { conflictText } from './conflict-text.ts'
import { conflictsOf } from './conflicts.ts'
import { demandRules, limitRules, modelOf } from './model.ts'
import { Horizon } from './needs.ts'
import { type Assignment, type Problem, problem } from './problem.ts'
import { loadSolver, type Schedule, type Solved, type SolverProgress } from './solve.ts'
import { solveInThread } from './solve-in-thread.ts'

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
  { name: 'E', start: '00:00', end: '06:00', night: false },
  { name: 'F', start: '07:00', end: '07:00', night: true },
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
            fc.array(
              fc.record({
                weekdays: fc.option(fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }), {
                  nil: undefined,
                }),
                from: fc.option(fc.constantFrom('00:00', '06:00', '20:00', '22:00'), { nil: undefined }),
                to: fc.option(fc.constantFrom('06:00', '14:00', '22:00', '24:00'), { nil: undefined }),
              }),
              { minLength: 1, maxLength: 2 },
            ),
            { nil: undefined, freq: 2 },
          ),
          days_off: fc.subarray(['2030-03-04', '2030-03-05', '2030-03-06']),
          wishes: fc.tuple(subset(['A', 'B']), subset(['C'])),
        }),
        { minLength: 1, maxLength: people },
      ),
      demand: fc.array(
        fc.record({
          at: fc.oneof(fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F'), fc.integer({ min: 0, max: 23 })),
          people: fc.integer({ min: 0, max: 2 }),
          skills: fc.constantFrom({}, {}, { caixa: 1 }, { chefe: 1 }),
          on: fc.oneof(
            fc.constant({}),
            fc.record({ weekday: fc.integer({ min: 0, max: 6 }) }),
            fc.record({ date: fc.constantFrom('2030-03-04', '2030-03-05', '2030-03-07') }),
          ),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      rules: fc.record({
        min_rest_hours: fc.constantFrom(0, 8, 11, 24),
        max_days_in_row: fc.integer({ min: 1, max: 4 }),
        max_nights_per_week: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
      }),
      allow_shortage: fc.boolean(),
      balance_hours: fc.boolean(),
    })
    .map(({ people, demand, ...rest }): Problem => {
      const known = new Set(rest.shifts.map(({ name }) => name))
      const known_ = (list: readonly string[]) => list.filter(name => known.has(name))
      const asked = demand
        .filter(({ at }) => typeof at === 'number' || known.has(at))
        .map(({ at, on, ...more }) => ({ ...more, ...on, ...(typeof at === 'number' ? { hour: at } : { shift: at }) }))
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
      const answer = solve(given)
      if (!('schedule' in answer)) {
        expect(answer.trouble).toBe('infeasible')
        expect(given.allow_shortage).toBe(false)
        ends.infeasible++
        return
      }
      ends.schedule++
      const { assignments, shortages } = answer.schedule
      expect(brokenRules(given, answer.schedule)).toEqual([])
      expect(violations(given, assignments, shortages)).toEqual([])
      if (!given.allow_shortage) expect(shortages).toEqual([])
      for (const { assigned, needed, ...place } of answer.schedule.cover) {
        const { date, shift, hour, skill } = place
        const { missing = 0 } =
          shortages.find(
            each =>
              'date' in each &&
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
      problems({ people: 2, days: 2, most: 2 }).map(given => ({
        ...given,
        allow_shortage: false,
        balance_hours: false,
      })),
      given => {
        let best = Number.POSITIVE_INFINITY
        for (const { assignments, cost } of everySchedule(given))
          if (cost < best && brokenRules(given, { assignments, shortages: [] }).length === 0) best = cost
        const answer = solve(given)
        if (Number.isFinite(best)) {
          ends.schedule++
          expect(scheduleOf(answer)).toMatchObject({ status: 'optimal', cost: Math.round(best * 100) / 100 })
        } else {
          ends.infeasible++
          expect(answer).toMatchObject({ trouble: 'infeasible' })
        }
      },
    ),
    { numRuns: 60, seed: 18 },
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

test('if the time is up before the search has an answer, the words name no rule that the problem does not have', () => {
  const given = problem.parse({ ...smallProblem, people: [{ name: 'Ana', days_off: ['2030-04-01'] }] })
  const found = (of: Problem) =>
    conflictsOf(of, { ask: () => ({ status: 'time_limit', values: null, cost: 0, gapPercent: 0, seconds: 1 }) }).rules
  expect(found(given)).toEqual(['demand', 'max_hours', 'min_rest', 'one_shift_a_day'])
  const ofAllRules = problem.parse({
    ...smallProblem,
    days: 8,
    people: [
      { name: 'Ana', skills: ['caixa'], min_hours_week: 8, days_off: ['2030-03-05'] },
      { name: 'Bia', skills: ['caixa'], available: [{ weekdays: [1] }] },
      { name: 'Caio' },
    ],
    shifts: [...shifts, { name: 'Caixa', start: '09:00', end: '12:00', skill: 'caixa' }],
    demand: [{ shift: 'Noite', people: 1, skills: { caixa: 1 } }],
    rules: { max_days_in_row: 2, max_nights_per_week: 1 },
  })
  expect(found(ofAllRules)).toEqual([...demandRules, ...limitRules])
})

test('all questions about colliding rules have a minute together, and the question about the uncovered places its own time', () => {
  const asked: number[] = []
  const { isProved } = conflictsOf(problem.parse({ ...smallProblem, rules: { max_nights_per_week: 1 } }), {
    ask: (_, seconds) => {
      asked.push(seconds)
      return { status: 'infeasible', values: null, cost: 0, gapPercent: 0, seconds: 25 }
    },
  })
  expect(asked).toEqual([10, 10, 10, 10])
  expect(isProved).toBe(false)
})

test('the search for the colliding rules reports its progress', () => {
  const told: SolverProgress[] = []
  const given = problem.parse({ ...smallProblem, demand: [{ shift: 'Noite', people: 9 }] })
  solve(given, progress => told.push(progress))
  const searched = told.flatMap(each => ('searched' in each ? [each] : []))
  expect(searched[0]).toEqual({ searched: 0, rules: 11, remaining: [...demandRules, ...limitRules] })
  expect(searched.at(-1)).toEqual({ searched: 11, rules: 11, remaining: ['demand'] })
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
  const given = problem.parse({ ...longProblem, time_limit_seconds: 3 })
  const told: SolverProgress[] = []
  const { status, gap_percent, assignments, shortages } = scheduleOf(solve(given, progress => told.push(progress)))
  expect(told.length).toBeGreaterThan(0)
  expect(status).toBe('feasible')
  expect(gap_percent).toBeGreaterThan(0)
  expect(violations(given, assignments, shortages)).toEqual([])
  expect(brokenRules(given, { assignments, shortages })).toEqual([])
})

test('when the time is up before the first schedule, the answer says so', () => {
  // Less than the route accepts: no machine finds a schedule within a hundredth of a second.
  const given: Problem = { ...problem.parse(longProblem), time_limit_seconds: 0.01 }
  expect(solve(given)).toEqual({ trouble: 'no_time' })
})

test('a window past midnight contains the early shifts of the next day, and of that day alone', () => {
  // 4 March 2030 is a Monday.
  const given = {
    start: '2030-03-04',
    days: 3,
    people: [{ name: 'Ana', available: [{ weekdays: [1], from: '22:00', to: '06:00' }] }],
    shifts: [{ name: 'Madrugada', start: '00:00', end: '06:00' }],
    allow_shortage: true,
    demand: [{ shift: 'Madrugada', people: 1 }],
  }
  expect(scheduleOf(solved(given)).assignments).toEqual([{ date: '2030-03-05', shift: 'Madrugada', person: 'Ana' }])
  // The window of the day before the plan counts too.
  expect(scheduleOf(solved({ ...given, start: '2030-03-05', days: 1 })).shortages).toEqual([])
})

test('hours missing to the minimum of a person are shortages, with the person and the week', () => {
  const given = {
    ...smallProblem,
    people: [{ name: 'Ana', min_hours_week: 42, max_hours_week: 44, days_off: ['2030-03-05'] }],
    allow_shortage: true,
  }
  const { shortages } = scheduleOf(solved(given))
  // Two days of a week are 12 of 42 hours, and a shift has 8.
  expect(shortages.filter(each => 'person' in each)).toEqual([{ person: 'Ana', week_of: '2030-03-04', missing: 4 }])
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

const manyPeople = (count: number, skills: readonly string[]) =>
  Array.from({ length: count }, (_, index) => ({ name: `P${index}`, skills }))
const ofEach = (skills: readonly string[]) => Object.fromEntries(skills.map(skill => [skill, 1]))
const fiftySkills = Array.from({ length: 50 }, (_, index) => `k${index}`)

test('a problem that is too large for the memory or the time of a job is refused before the solver starts, with the limit', () => {
  const given = {
    start: '2030-03-04',
    days: 62,
    people: manyPeople(200, []),
    shifts: Array.from({ length: 6 }, (_, index) => ({ name: `S${index}`, start: `0${index}:00`, end: '12:00' })),
    demand: [{ shift: 'S0', people: 1 }],
  }
  expect(solved(given)).toEqual({ trouble: 'too_large', what: 'cells', most: 60_000 })
  const halves = [
    { name: 'D', start: '00:00', end: '12:00' },
    { name: 'N', start: '12:00', end: '24:00' },
  ]
  const hourly = Array.from({ length: 24 }, (_, hour) => ({ hour, people: 1, skills: ofEach(fiftySkills) }))
  // 11 kB, and 75,888 demands.
  expect(solved({ ...given, people: manyPeople(3, fiftySkills), shifts: halves, demand: hourly })).toEqual({
    trouble: 'too_large',
    what: 'needs',
    most: 10_000,
  })
  const skills = fiftySkills.slice(0, 5)
  const perHour = hourly.map(each => ({ ...each, skills: ofEach(skills) }))
  expect(solved({ ...given, people: manyPeople(200, skills), shifts: halves, demand: perHour })).toEqual({
    trouble: 'too_large',
    what: 'entries',
    most: 2_000_000,
  })
})

test('the program of 100 people, 28 days and the demand of each hour with five skills is within the limits', () => {
  const skills = fiftySkills.slice(0, 5)
  const demand = Array.from({ length: 24 }, (_, hour) => ({ hour, people: 5, skills: ofEach(skills) }))
  const given = { start: '2030-03-04', days: 28, people: manyPeople(100, skills), shifts, demand }
  expect(modelOf(problem.parse(given))).not.toHaveProperty('tooLarge')
  const ofShifts = shifts.map(({ name }) => ({ shift: name, people: 5, skills: ofEach(fiftySkills) }))
  expect(modelOf(problem.parse({ ...given, demand: ofShifts }))).not.toHaveProperty('tooLarge')
})

const never = new AbortController().signal
const threadOf = (code: string) =>
  new URL(`data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads'\n${code}`)}`)

test('a solver that does not stop at its time limit is ended, and the job says why', async () => {
  const forever = 'for (;;) {}'
  const ended = (code: string, time_limit_seconds: number) =>
    solveInThread(
      { ...problem.parse(smallProblem), time_limit_seconds },
      { signal: never, progress: () => {}, thread: threadOf(code), overrun: 0.1, search: 0.01 },
    )
  expect(await ended(forever, 0.01)).toEqual({ trouble: 'no_time' })
  // Without a schedule, the time of the search counts from the first message of the search on.
  const rules = ['demand', 'nights']
  const search = `parentPort.postMessage(${JSON.stringify({ progress: { searched: 1, rules: 11, remaining: rules } })})`
  expect(await ended(`${search}\n${forever}`, 300)).toEqual({
    trouble: 'infeasible',
    conflict: { rules, isProved: false, places: [] },
  })
})
