/**
 * The jobs of all scenarios. A handler writes a line to a ledger outside the database when the handler starts and
 * when the handler ends, and returns the worker and the attempt. The checks compare the accepted results with the
 * ledger.
 */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, milliseconds, snooze } from '../../dist/index.js'

/** `note`: writes a line; `self`: the current id of the worker; `released`: a file which releases all `hold` jobs. */
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
    /** Four steps with an effect outside the database, and a payment inside the database. */
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
    /** The first attempt waits until the signal aborts or the `released` file exists. */
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
