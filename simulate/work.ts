/**
 * The jobs of a simulation: a few kinds which often find faults. The handlers report each started step to `Outside`,
 * which is outside every process and behind no fence.
 */
import {
  type AnyBatch,
  type AnyJob,
  defineBatch,
  defineJob,
  defineSchedule,
  doNotRetry,
  hours,
  type JobContext,
  type LimitsByQueue,
  minutes,
  providerStop,
  providerWait,
  type Schedule,
  seconds,
  skip,
} from '../src/index.ts'
import type { Clock } from '../src/lib/clock.ts'

/** The answer of an outside provider. */
type Mood = 'well' | 'wait' | 'stop'

export const mostAtOnce = 2
export const mostFailures = 3

const patient = {
  maxAttempts: mostFailures,
  backoff: { first: seconds(5), factor: 2, max: minutes(1), jitter: 0 },
  // No attempt times out because a machine slept.
  timeout: hours(20),
  maxAge: hours(24 * 30),
}

export interface Item {
  how: 'well' | 'fails' | 'hopeless' | 'skipped' | 'long'
  /** How often, or how many seconds. */
  n: number
}

export interface Work {
  jobs: AnyJob[]
  batches: AnyBatch[]
  schedules: Schedule[]
  limits: LimitsByQueue
  kinds: Record<'quick' | 'flaky' | 'steps' | 'saved' | 'narrow' | 'asking', AnyJob>
  many: AnyBatch
}

/** The state outside all processes, which survives the death of a process. */
export interface Outside {
  mood: Mood
  /** Reports the start of step `step` in attempt `attempt`. */
  began(job: string, attempt: number, step: string): void
}

/** Returns new definitions for a process. */
export function workOf(outside: Outside, clock: Clock): Work {
  const began = (job: string, attempt: number, step: string) => outside.began(job, attempt, step)
  const nap = (ctx: JobContext, ms: number) => clock.sleep(ms, ctx.signal)
  const quick = defineJob({ kind: 'quick', queue: 'q', ...patient, run: () => 'done' })
  const flaky = defineJob<{ n: number }>({
    kind: 'flaky',
    queue: 'q',
    ...patient,
    run: (ctx, { n }) => {
      if (ctx.attempt <= n) throw new Error('not yet')
    },
  })
  const steps = defineJob<{ n: number }>({
    kind: 'steps',
    queue: 'q',
    ...patient,
    run: async (ctx, { n }) => {
      for (let i = 0; i < n; i++) await ctx.step(`s${i}`, () => began(ctx.id, ctx.attempt, `s${i}`))
      await ctx.sleep('rest', seconds(20))
      await ctx.step('last', async () => {
        began(ctx.id, ctx.attempt, 'last')
        await nap(ctx, 3000)
      })
    },
  })
  const saved = defineJob({
    kind: 'saved',
    queue: 'q',
    ...patient,
    run: ctx =>
      ctx.transaction('save', async tx => {
        await tx.query('insert into simulated.effect (job) values ($1)', [ctx.id])
      }),
  })
  const narrow = defineJob<{ ms: number }>({
    kind: 'narrow',
    queue: 'narrow',
    ...patient,
    run: (ctx, { ms }) => nap(ctx, ms),
  })
  const asking = defineJob({
    kind: 'asking',
    queue: 'outside',
    ...patient,
    run: ctx =>
      ctx.provider('oracle', () => {
        if (outside.mood === 'wait') throw providerWait({ retryAfter: seconds(30) })
        if (outside.mood === 'stop') throw providerStop({ code: '402', message: 'no credit' })
      }),
  })
  const item = defineJob<Item>({
    kind: 'item',
    queue: 'items',
    ...patient,
    run: async (ctx, { how, n }) => {
      await ctx.step('read', () => began(ctx.id, ctx.attempt, 'read'))
      if (how === 'fails' && ctx.attempt <= n) throw new Error('not yet')
      if (how === 'hopeless') throw doNotRetry('a bad item')
      if (how === 'skipped') return skip('nothing in it')
      if (how === 'long') await nap(ctx, n * 1000)
      return 'read'
    },
  })
  const over = defineJob<object>({ kind: 'over', queue: 'q', ...patient, run: () => {} })
  const slot = defineJob<{ slot: string }>({ kind: 'slot', queue: 'q', ...patient, run: () => {} })
  const many = defineBatch({ name: 'many', job: item, stallAfter: minutes(10), onComplete: over })
  const every = defineSchedule({
    name: 'every-minute',
    every: minutes(1),
    job: slot,
    input: at => ({ slot: at.toISOString() }),
  })
  return {
    jobs: [quick, flaky, steps, saved, narrow, asking],
    batches: [many],
    schedules: [every],
    limits: { narrow: { perGroup: { concurrency: mostAtOnce } } },
    kinds: { quick, flaky, steps, saved, narrow, asking },
    many,
  }
}
