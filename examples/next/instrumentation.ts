/** Next.js calls this function once at the start, before the first request: unfinished jobs continue at once. */
export async function register(): Promise<void> {
  // Next.js also calls this function in the edge runtime, which has no PostgreSQL.
  if (process.env.NEXT_RUNTIME === 'nodejs') await (await import('./retoma.ts')).retoma()
}
