/**
 * Solves a problem with HiGHS. The call blocks its thread, so a thread of its own makes the call (solver-thread.ts).
 *
 * Invariant: a returned schedule keeps every hard rule (check.ts), also a schedule that is not proved to be the best when the time is up.
 */
import highsModule, { type Highs, type Model } from 'highs'
import { violations } from './check.ts'
import { type Conflict, conflictsOf, searchOrder } from './conflicts.ts'
import {
  assignedCells,
  modelOf,
  type Rule,
  type ScheduleModel,
  servingIn,
  shortagesOf,
  type TooLarge,
} from './model.ts'
import type { Assignment, MissingPeople, Problem, Shortage } from './problem.ts'

export type SolverProgress =
  | {
      seconds: number
      /** null: no schedule yet. */
      cost: number | null
      /** Percent between the cost and the lowest possible cost; null: no schedule yet. */
      gapPercent: number | null
    }
  /** No schedule exists: the number of rules that the search for the collision has tried, of all rules, and the rules that may collide. */
  | { searched: number; rules: number; remaining: readonly Rule[] }

export interface Schedule {
  /** `optimal`: no better schedule exists. `feasible`: the time was up before the proof. */
  status: 'optimal' | 'feasible'
  /** 0: optimal. */
  gap_percent: number
  /** Hours, with additions for shifts against a preference. */
  cost: number
  seconds: number
  assignments: Assignment[]
  people: { person: string; hours: number; shifts: number; nights: number }[]
  /** Missing people, and hours missing to the minimum of a person; only with `allow_shortage`. */
  shortages: Shortage[]
  /** For each demand, the people needed and the people assigned. */
  cover: Cover[]
}

interface Cover extends Omit<MissingPeople, 'missing'> {
  needed: number
  assigned: number
}

export type Solved =
  | { schedule: Schedule }
  | { trouble: 'infeasible'; conflict: Conflict }
  | { trouble: 'no_time' }
  | ({ trouble: 'too_large' } & TooLarge)

// The types declare a CommonJS module; Node loads the ES module, whose default export is the function.
const loadHighs = highsModule as unknown as typeof highsModule.default

/** Bound to a loaded HiGHS: a load takes 0.2 s. */
export const loadSolver = async (): Promise<(problem: Problem, progress?: Report) => Solved> => {
  const highs = await loadHighs()
  return (problem, progress = () => {}) => solve(highs, problem, progress)
}

type Report = (progress: SolverProgress) => void

function solve(highs: Highs, problem: Problem, progress: Report): Solved {
  const model = modelOf(problem)
  if ('tooLarge' in model) return { trouble: 'too_large', ...model.tooLarge }
  const answer = run(highs, model, problem.time_limit_seconds, progress)
  if (answer.status === 'infeasible') {
    const conflict = conflictsOf(problem, {
      ask: (asked, seconds) => run(highs, asked, seconds),
      progress: (searched, remaining) => progress({ searched, rules: searchOrder.length, remaining }),
    })
    return { trouble: 'infeasible', conflict }
  }
  if (answer.values === null) return { trouble: 'no_time' }
  const schedule = scheduleOf(model, answer.values, answer)
  const broken = violations(problem, schedule.assignments, schedule.shortages)
  if (broken.length > 0) throw new Error(`the solver broke a rule: ${broken[0]}`)
  return { schedule }
}

export interface Answer {
  status: 'optimal' | 'infeasible' | 'time_limit'
  /** null: no schedule was found. */
  values: Float64Array | null
  cost: number
  gapPercent: number
  seconds: number
}

function run(highs: Highs, { data }: ScheduleModel, seconds: number, progress: Report = () => {}): Answer {
  // Nobody can work anywhere: HiGHS does not judge a program without columns.
  if (data.numCols === 0) {
    const isEnough = Array.from(data.rowLower).every(lower => lower <= 0)
    return {
      status: isEnough ? 'optimal' : 'infeasible',
      values: new Float64Array(),
      cost: 0,
      gapPercent: 0,
      seconds: 0,
    }
  }
  return highs.withModel(data, (model: Model): Answer => {
    // Nothing is unbounded, because no column has a negative cost: "infeasible or unbounded" is infeasible.
    // Without a gap that HiGHS accepts by default, `optimal` means that no better schedule exists.
    model.options.set({ output_flag: false, time_limit: seconds, mip_rel_gap: 0 })
    const { optimal, infeasible, unboundedOrInfeasible } = highs.constants.modelStatus
    let told = 0
    const { modelStatus } = model.run({
      [highs.constants.callbackType.mipInterrupt]({ data }) {
        // HiGHS calls some thousand times a second.
        const at = data.running_time ?? 0
        if (at - told < 0.5) return
        told = at
        const [cost, gap] = [data.mip_primal_bound ?? endless, data.mip_gap ?? endless]
        progress({
          seconds: at,
          cost: Number.isFinite(cost) ? cost : null,
          gapPercent: Number.isFinite(gap) ? gap * 100 : null,
        })
      },
    })
    const took = model.getRunTime()
    if (modelStatus === infeasible || modelStatus === unboundedOrInfeasible)
      return { status: 'infeasible', values: null, cost: 0, gapPercent: 0, seconds: took }
    // 2: feasible.
    const hasSchedule = model.info.get('primal_solution_status') === 2
    const gap = modelStatus === optimal ? 0 : Number(model.info.get('mip_gap')) * 100
    return {
      status: modelStatus === optimal ? 'optimal' : 'time_limit',
      values: hasSchedule ? model.getSolution().colValue : null,
      cost: model.getObjectiveValue(),
      gapPercent: Number.isFinite(gap) ? gap : 100,
      seconds: took,
    }
  })
}

const endless = Number.POSITIVE_INFINITY
const rounded = (number: number): number => Math.round(number * 100) / 100

function scheduleOf(model: ScheduleModel, values: Float64Array, answer: Answer): Schedule {
  const { horizon } = model
  const { problem, dates, shifts } = horizon
  const taken = assignedCells(model, values)
  const serving = servingIn(horizon, taken)
  return {
    status: answer.status === 'optimal' ? 'optimal' : 'feasible',
    gap_percent: rounded(answer.gapPercent),
    cost: rounded(answer.cost),
    seconds: rounded(answer.seconds),
    assignments: taken
      .toSorted((a, b) => a.day - b.day || shifts[a.shift]!.start - shifts[b.shift]!.start || a.person - b.person)
      .map(({ day, shift, person }) => ({
        date: dates[day]!,
        shift: shifts[shift]!.name,
        person: problem.people[person]!.name,
      })),
    people: problem.people.map(({ name }, person) => {
      const own = taken.filter(each => each.person === person)
      return {
        person: name,
        hours: rounded(own.reduce((sum, { shift }) => sum + shifts[shift]!.hours, 0)),
        shifts: own.length,
        nights: own.filter(({ shift }) => shifts[shift]!.night).length,
      }
    }),
    shortages: shortagesOf(model, values),
    cover: horizon.needs.map(need => ({
      date: dates[need.day]!,
      shift: need.shift === null ? null : shifts[need.shift]!.name,
      hour: need.hour,
      skill: need.skill,
      needed: need.people,
      assigned: serving(need),
    })),
  }
}
