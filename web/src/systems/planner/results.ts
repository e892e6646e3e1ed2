/** The results of the planner's jobs, as apps/planner writes them. The API declares a result as any JSON. */
export interface Schedule {
  status: 'optimal' | 'feasible'
  gap_percent: number
  seconds: number
  assignments: { date: string; shift: string; person: string }[]
  people: { person: string; hours: number; shifts: number; nights: number }[]
  /** A schedule of an earlier version has no cover. */
  cover?: {
    date: string
    shift: string | null
    hour: number | null
    skill: string | null
    needed: number
    assigned: number
  }[]
  shortages: (
    | { date: string; shift: string | null; hour: number | null; skill: string | null; missing: number }
    | { person: string; week_of: string; missing: number }
  )[]
}

export interface Demand {
  visits: number
  from: string
  to: string
  demand: { weekday: number; hour: number; visits: number; average: number }[]
  dropped: { rows: number; reasons: { reason: string; rows: number; example: string }[] }
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object'

export const isSchedule = (value: unknown): value is Schedule =>
  isObject(value) && Array.isArray(value.assignments) && Array.isArray(value.people)

export const isDemand = (value: unknown): value is Demand => isObject(value) && Array.isArray(value.demand)
