/**
 * Which jobs a worker's code runs: those of its own version and of older ones down to `oldestVersion`. A job is of the
 * version of the code that enqueued it, for good (docs/adr/0012-versions.md).
 */

export interface Versioned {
  readonly version: number
  readonly oldestVersion: number
}

/** As the database has it: version 1 is null, so that kinds without versions pay nothing for them. */
export const storedVersion = (version: number): number | null => (version === 1 ? null : version)

export interface Takes {
  /** Those whose jobs of version 1 are taken. */
  kinds: readonly string[]
  /** JSON text: kind to [oldest, newest], where there is another version than 1. */
  versions?: string
}

export function takesOf(jobs: ReadonlyMap<string, Versioned>): Required<Takes> {
  const all = [...jobs]
  const later = all.filter(([, job]) => job.version > 1)
  return {
    kinds: all.filter(([, job]) => job.oldestVersion === 1).map(([kind]) => kind),
    versions: JSON.stringify(Object.fromEntries(later.map(([kind, job]) => [kind, [job.oldestVersion, job.version]]))),
  }
}
