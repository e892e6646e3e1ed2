/**
 * The first segments of the paths of pages. The build writes this list for the server, which answers each path below a segment with
 * index.html. `router.tsx` has one entry for each segment; the type checker compares both.
 */
export const pagePaths = [
  'login',
  'batches',
  'jobs',
  'queues',
  'workers',
  'schedules',
  'guards',
  'providers',
  'incidents',
  'tokens',
  'settings',
] as const

export type PagePath = (typeof pagePaths)[number]
