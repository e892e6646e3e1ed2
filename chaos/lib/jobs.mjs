/**
 * The jobs of all scenarios. A handler writes one line when it starts and one when it ends into a ledger outside the
 * database, and returns who ran it: so what the database accepted can be compared with what happened.
 */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, milliseconds, snooze } from '../../dist/index.js'

/** `note`: writes a line; `self`: the worker's id at this moment; `released`: a file that lets `hold` go. */
export function chaosJobs(note, self = () => '', released = '') {
  return {
    /** { ms, fails, snoozes }: mostly nothing at all. */
    task: defineJob({
      kind: 'task',
      backoff: { first: milliseconds(200), jitter: 0.5 },
      run: async ({ id, attempt }, { ms = 0, fails = false, snoozes = 0 }) => {
        const worker = self()
        note('start', id, attempt, worker)
        if (ms > 0) await sleep(ms)
        if (snoozes >= attempt) {
          note('snooze', id, attempt, worker)
          return snooze(milliseconds(10))
        }
        if (fails && attempt === 1) {
          note('throw', id, attempt, worker)
          throw new Error('as told')
        }
        note('end', id, attempt, worker)
        return { attempt, worker }
      },
    }),
    /** Four steps with an effect outside of the database, and a payment inside of it. */
    steps: defineJob({
      kind: 'steps',
      queue: 'steps',
      run: async ctx => {
        const { id, attempt } = ctx
        const worker = self()
        for (const name of ['one', 'two', 'three', 'four']) {
          await ctx.step(name, async () => {
            note('step', id, attempt, worker, name)
            await sleep(5)
            return { name, attempt }
          })
        }
        await ctx.transaction('five', tx => tx.query('insert into public.payment values ($1, $2)', [id, attempt]))
        return { attempt, worker }
      },
    }),
    /** Its first attempt waits until it hears its signal or is let go. */
    hold: defineJob({
      kind: 'hold',
      queue: 'hold',
      run: async ({ id, attempt, signal }) => {
        const worker = self()
        note('start', id, attempt, worker)
        signal.addEventListener('abort', () => note('abort', id, attempt, worker, signal.reason.code))
        while (attempt === 1 && !existsSync(released)) {
          await sleep(100, undefined, { signal })
        }
        note('end', id, attempt, worker)
        return { attempt, worker }
      },
    }),
    /** Comes when a batch of tasks is over. */
    over: defineJob({
      kind: 'over',
      run: async ({ id, attempt }) => {
        const worker = self()
        note('start', id, attempt, worker)
        note('end', id, attempt, worker)
        return { attempt, worker }
      },
    }),
  }
}
