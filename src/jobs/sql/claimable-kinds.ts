/** Decides by a worker's row which jobs the worker claims: see jobs/model/kind-version.ts. */

/**
 * True if the worker `w` claims jobs of the kind and version. A kind whose newest version is 1 is only in `kinds`; a kind
 * with later versions is in `kinds` too, and `versions` has the oldest version that the code still runs.
 */
export const takesVersion = (w: string, kind: string, version: string): string => `
  case
    when ${version} = 1 and not ${w}.versions ? ${kind} then ${kind} = any (${w}.kinds)
    else coalesce(${version} between (${w}.versions -> ${kind} -> 0)::int and (${w}.versions -> ${kind} -> 1)::int, false)
  end`
