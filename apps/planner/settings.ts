/** Defines the environment variables of the planner, and reads them. */
import { readSystemSettings, settingChecks } from 'retoma'

const { wholeNumber } = settingChecks

/** @public for scripts/docs */
export const settings = {
  PLANNER_CONCURRENCY: {
    meaning: 'Jobs of the planner that a worker runs at the same time; each schedule takes a core and up to 1 GB',
    default: '2',
    read: wholeNumber(1, 100),
  },
} as const

export interface PlannerSettings {
  concurrency: number
}

/** Throws `bad_setting` with the name of an unusable variable. */
export function readPlannerSettings(environment?: Readonly<Record<string, string | undefined>>): PlannerSettings {
  const read = readSystemSettings(settings, environment)
  return { concurrency: read.PLANNER_CONCURRENCY }
}
