/**
 * The jobs of the proofs, by name: for the enqueuing process and for the workers. `tell` sends a message to the parent
 * of the worker; `answers` are the questions which the worker can answer; `auditor`: see auditor.mjs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob } from '../../dist/index.js'
import { batchJobs } from './batch-jobs.mjs'
import { now } from './clock.mjs'

const tellEvery = 1000

export const jobs = {
  ...batchJobs,

  /** Does nothing. With { at }, the time of the enqueue, measures the pickup. */
  noop({ tell, answers, queue = 'bench' }) {
    let ran = 0
    let waits = []
    answers.waits = () => {
      const all = waits
      waits = []
      return all
    }
    return defineJob({
      kind: 'noop',
      queue,
      maxAttempts: 1,
      run: async (_, input) => {
        if (input.at !== undefined) waits.push(now() - input.at)
        if (++ran % tellEvery === 0) tell({ ran, at: now(), rss: process.memoryUsage.rss() })
      },
    })
  },

  /** { key, ms }: under limits, watched from outside. */
  audited({ auditor, queue = 'audited' }) {
    return defineJob({
      kind: 'audited',
      queue,
      run: async ({ id }, { key = '', ms = 0 }) => {
        await auditor.start(queue, key, id)
        if (ms > 0) await sleep(ms)
        await auditor.end(queue, key, id)
      },
    })
  },

  /** { ms, deaf }: sleeps for `ms`; a deaf job ignores the signal. Returns the attempt. */
  slow({ queue = 'bench' }) {
    return defineJob({
      kind: 'slow',
      queue,
      run: async ({ attempt, signal }, { ms, deaf = false }) => {
        await sleep(ms, undefined, deaf ? {} : { signal })
        return { attempt }
      },
    })
  },
}

/** The same jobs for an enqueuing process. */
export const toEnqueue = (name, options = {}) => jobs[name]({ tell: () => {}, answers: {}, ...options })
