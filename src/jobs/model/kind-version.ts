/**
 * Computes the jobs that the code of a worker can run: jobs of its version, and of older versions down to `oldestVersion`. A job
 * keeps the version of the code that enqueued the job (docs/adr/0012-versions.md).
 */

export interface Versioned {
  readonly version: number
  readonly oldestVersion: number
}

/** Stored form: version 1 is null, so that kinds without versions cost nothing. */
export const storedVersion = (version: number): number | null => (version === 1 ? null : version)

export interface ClaimableKinds {
  /** Kinds whose jobs of version 1 the worker claims. */
  kinds: readonly string[]
  /** JSON text: kind to [oldest, newest], for kinds with other versions than 1. */
  versions?: string
}

export function claimableKindsOf(jobs: ReadonlyMap<string, Versioned>): Required<ClaimableKinds> {
  const all = [...jobs]
  const later = all.filter(([, job]) => job.version > 1)
  return {
    kinds: all.filter(([, job]) => job.oldestVersion === 1).map(([kind]) => kind),
    versions: JSON.stringify(Object.fromEntries(later.map(([kind, job]) => [kind, [job.oldestVersion, job.version]]))),
  }
}
