/** Defines the environment variables of the snaps, and reads them. */
import { availableParallelism } from 'node:os'
import { readSystemSettings, settingChecks } from 'retoma'

const { oneOf, wholeNumber } = settingChecks

/** @public for scripts/docs */
export const settings = {
  SNAPS_WORKER: {
    meaning:
      'Where snaps are processed. api: also in the process of the API (retoma up). own: only in worker processes: a second process that retoma up starts, or retoma worker',
    default: 'api',
    read: oneOf('api', 'own'),
  },
  SNAPS_CONCURRENCY: {
    meaning:
      'Snaps that a worker runs at the same time. More than the cores wait for a core, and may start out of order',
    absent: 'one for each core',
    read: wholeNumber(1, 1000),
  },
} as const

export interface SnapsSettings {
  /** `own`: the process of the API does not process snaps. */
  worker: 'api' | 'own'
  concurrency: number
}

/** Throws `bad_setting` with the name of an unusable variable. */
export function readSnapsSettings(environment?: Readonly<Record<string, string | undefined>>): SnapsSettings {
  const read = readSystemSettings(settings, environment)
  // A worker decodes at most one image for each core; a further snap would start, wait and be given back.
  return { worker: read.SNAPS_WORKER, concurrency: read.SNAPS_CONCURRENCY ?? availableParallelism() }
}
