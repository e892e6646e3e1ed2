/**
 * The jobs of the proofs, by name: for the process that enqueues them and for the workers that run them. `tell` sends a
 * message to whoever started the worker; `answers` are what it can be asked for; `auditor`: see auditor.mjs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob } from '../../dist/index.js'
import { batchJobs } from './batch-jobs.mjs'
import { now } from './clock.mjs'

const tellEvery = 1000

export const jobs = {
  ...batchJobs,

  /** Nothing at all; { at }: when it was enqueued, and then its pickup is measured. */
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

  /** { ms, deaf }: takes its time; a deaf one does not hear its signal. Returns which attempt it was. */
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

/** The same jobs for a process that only enqueues. */
export const toEnqueue = (name, options = {}) => jobs[name]({ tell: () => {}, answers: {}, ...options })
