/** Which jobs a worker takes, by its row: see core/version.ts. */

/**
 * Whether the worker `w` takes jobs of that kind and version. A kind whose newest version is 1 is among `kinds` alone; one with later
 * versions is among `kinds` as well, and `versions` says from which version on its code still runs jobs.
 */
export const takesVersion = (w: string, kind: string, version: string): string => `
  case
    when ${version} = 1 and not ${w}.versions ? ${kind} then ${kind} = any (${w}.kinds)
    else coalesce(${version} between (${w}.versions -> ${kind} -> 0)::int and (${w}.versions -> ${kind} -> 1)::int, false)
  end`
