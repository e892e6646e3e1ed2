/**
 * The jobs of the proofs about batches and steps; see jobs.mjs. Those with a `ledger` note what they do in a file outside
 * the database, in one write each: what is in it happened, whatever the database says.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ledgerWriter } from '../../chaos/lib/ledger.mjs'
import { defineJob, milliseconds, snooze } from '../../dist/index.js'
import { now } from './clock.mjs'

/** For a process that only enqueues there is none. */
const noteIn = ledger => (ledger ? ledgerWriter(ledger) : () => {})

const trouble = ['the provider does not answer', 'no text in the document', 'unknown category']

export const batchJobs = {
  /** { n, ms, fails }: knows when the last one started here, and the first one since the signal to mark. */
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

  /** { ms, fails }: fails at every `fails`-th try. Its kind says what becomes of it when its worker dies. */
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

  /** What comes when a batch is over. */
  done({ queue = 'done' }) {
    return defineJob({ kind: 'done', queue, run: async () => {} })
  },

  /** { pair, side }: taken by the worker of its side alone, ended at the very instant that worker gets the signal. */
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

  /** { ms }: notes its start and its end. */
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

  /** Five steps; notes the start of each, and its effect. Its result tells which attempt did which. */
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
