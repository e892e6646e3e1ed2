/** Next.js calls this once when it starts, before the first request: what was left unfinished goes on at once. */
export async function register(): Promise<void> {
  // It does so for the edge runtime too, which has no PostgreSQL.
  if (process.env.NEXT_RUNTIME === 'nodejs') await (await import('./retoma.ts')).retoma()
}
