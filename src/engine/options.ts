/**
 * What an application may say of its engine, and what stands in where it does not: the environment, and without a database
 * the embedded server of this folder.
 */
import type { AnyBatch } from '../core/batch.ts'
import type { Guard } from '../core/guard.ts'
import type { AnyJob } from '../core/job.ts'
import type { Limits } from '../core/limits.ts'
import type { Retention } from '../core/retention.ts'
import type { Schedule } from '../core/schedule.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { RateLimits } from './limits.ts'
import type { NotifyOptions } from './notify.ts'
import { checkUpstash } from './upstash.ts'

export interface EngineOptions {
  /** Default: DATABASE_URL; without either, the embedded PostgreSQL of this folder (RETOMA_DATA_DIR, `.retoma`). */
  databaseUrl?: string | undefined
  /** For LISTEN and for heartbeats, where `databaseUrl` is a PgBouncer in transaction mode. Default: DATABASE_DIRECT_URL. */
  databaseDirectUrl?: string | undefined
  jobs?: readonly AnyJob[]
  /** Their jobs, and what they have run at their end, need not be among `jobs`. */
  batches?: readonly AnyBatch[]
  /** What queues allow over all workers: at once, within a time, waiting. A queue not named keeps its limits; `{}` lifts them. */
  limits?: Limits
  /**
   * Where `engine.limit` keeps its windows. Default: in Upstash Redis when UPSTASH_REDIS_REST_URL and
   * UPSTASH_REDIS_REST_TOKEN are set, else in PostgreSQL. 'off': everything passes, for development.
   */
  rateLimits?: RateLimits
  /** They fire while this engine works or watches; their jobs need not be among `jobs`. */
  schedules?: readonly Schedule[]
  /** They look at tables that are not ours while this engine works or watches; their jobs need not be among `jobs`. */
  guards?: readonly Guard[]
  /** A webhook that tells a person when something is stuck, and when it is over: docs/notify.md. */
  notify?: NotifyOptions | undefined
  /** false: do not bring the schema up to date; refuse when it is not. Default true. */
  migrate?: boolean
  /**
   * Most connections this engine opens besides the one that listens and the one of a worker's heart, and as many again for
   * `ctx.transaction`. Default 10.
   */
  connections?: number
  /** How long finished jobs are kept, for all or by how they ended. Default 90 days. */
  retention?: Retention
  log?: Log
  clock?: Clock
}

/** Where the database is. */
export interface Home {
  url: string
  /** Past a pooler, where there is one. */
  directUrl: string | undefined
  /** For the embedded server, which goes once nobody is left. */
  leave: () => Promise<void>
}

/** A database URL, or the embedded server: started or attached to here, left at close. */
export async function databaseHome(options: EngineOptions): Promise<Home> {
  const url = options.databaseUrl ?? process.env.DATABASE_URL
  const directUrl = options.databaseDirectUrl ?? process.env.DATABASE_DIRECT_URL
  if (url) return { url, directUrl: directUrl || undefined, leave: async () => {} }
  const { openEmbedded } = await import('../postgres/index.ts')
  const dataDir = process.env.RETOMA_DATA_DIR || '.retoma'
  const server = await openEmbedded({ dataDir, ...(options.log ? { log: options.log } : {}) })
  return { url: server.url, directUrl: directUrl || undefined, leave: () => server.leave() }
}

export function rateLimitsOf({ rateLimits }: EngineOptions): RateLimits {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env
  const chosen = rateLimits ?? (url && token ? { url, token } : 'postgresql')
  if (chosen !== 'postgresql' && chosen !== 'off') checkUpstash(chosen)
  return chosen
}
