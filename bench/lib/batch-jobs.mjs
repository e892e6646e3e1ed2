/**
 * The jobs of the proofs about batches and steps; see jobs.mjs. A job with a `ledger` appends each event to a file
 * outside the database, in a single write: the file is the truth, whatever the database contains.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ledgerWriter } from '../../chaos/lib/ledger.mjs'
import { defineJob, milliseconds, snooze } from '../../dist/index.js'
import { now } from './clock.mjs'

/** A process which only enqueues has no ledger. */
const noteIn = ledger => (ledger ? ledgerWriter(ledger) : () => {})

const trouble = ['the provider does not answer', 'no text in the document', 'unknown category']

export const batchJobs = {
  /** { n, ms, fails }: remembers the time of the last start in this process, and of the first start since `mark`. */
  item({ answers, queue = 'items' }) {
    const starts = { last: 0, first: null, ran: 0 }
    answers.starts = () => starts
    answers.mark = () => {
      starts.first = null
    }
    return defineJob({
      kind: 'item',
      queue,
      maxAttempts: 1,
      run: async (_, { n, ms = 0, fails = false }) => {
        starts.last = now()
        starts.first ??= starts.last
        starts.ran++
        if (ms > 0) await sleep(ms)
        if (fails) throw new Error(`${trouble[n % trouble.length]}: item ${n}`)
      },
    })
  },

  /**
   * { ms, fails }: fails at every `fails`-th attempt. `onOrphan` decides whether a job of a dead worker is retried or
   * stalls.
   */
  stormy({ queue = 'storm', kind = 'stormy', onOrphan = 'retry' }) {
    return defineJob({
      kind,
      queue,
      maxAttempts: 2,
      backoff: { first: milliseconds(100) },
      onOrphan,
      run: async ({ attempt, signal }, { ms, fails = 0 }) => {
        await sleep(ms, undefined, { signal })
        if (fails > 0 && attempt % fails === 0) throw new Error(`${trouble[ms % trouble.length]}, try ${attempt}`)
      },
    })
  },

  /** The `onComplete` job of a batch. */
  done({ queue = 'done' }) {
    return defineJob({ kind: 'done', queue, run: async () => {} })
  },

  /**
   * { pair, side }: only the worker of the same side runs the job, and the job ends at the instant given to `letGo`.
   */
  paired({ tell, answers, side, queue = 'pairs' }) {
    const held = new Map()
    answers.letGo = async ({ pairs, at }) => {
      await sleep(at - now() - 2)
      while (now() < at);
      for (const pair of pairs) held.get(pair)()
    }
    return defineJob({
      kind: 'paired',
      queue,
      run: async (_, input) => {
        if (input.side !== side) return snooze(milliseconds(20))
        const gone = new Promise(resolve => held.set(input.pair, resolve))
        tell({ arrived: input.pair })
        await gone
      },
    })
  },

  /** { ms }: notes the start and the end. */
  noted({ ledger, queue = 'noted' }) {
    const note = noteIn(ledger)
    return defineJob({
      kind: 'noted',
      queue,
      run: async ({ id, attempt }, { ms }) => {
        note('start', id, attempt)
        await sleep(ms)
        note('end', id, attempt)
      },
    })
  },

  /** Five steps; notes the start and the effect of each step. The result contains the attempt of each step. */
  fivesteps({ ledger, queue = 'steps' }) {
    const note = noteIn(ledger)
    return defineJob({
      kind: 'fivesteps',
      queue,
      run: async ctx => {
        const { id, attempt } = ctx
        const values = []
        note('start', id, attempt, 0)
        for (let n = 1; n <= 5; n++) {
          const value = await ctx.step(`step-${n}`, async () => {
            note('begin', id, attempt, n)
            await sleep(2 + ((Number(id) * 7 + n * 3) % 10))
            note('effect', id, attempt, n)
            return { n, attempt }
          })
          note('saved', id, attempt, n)
          values.push(value)
        }
        return values
      },
    })
  },
}
