/**
 * The product's own claim, settle and idle poll, called as its worker calls them, and nothing of the worker around them:
 * for the bare loop and for what the statements cost.
 */

import { Claimer } from '../../dist/claiming/claimer.js'
import { lookAhead } from '../../dist/claiming/sql/claim.js'
import { openDb } from '../../dist/database/db.js'
import { systemClock } from '../../dist/lib/clock.js'
import { silentLog } from '../../dist/lib/logging/log.js'
import { registerWorker } from '../../dist/worker/sql/lease-heartbeat.js'
import { settleJobs } from '../../dist/worker/sql/settle.js'

/** As one worker of these queues and kinds. */
export async function openStatements(url, { queues, kinds }) {
  const db = openDb({ url, log: silentLog })
  const worker = `w-bench-${process.pid}`
  await registerWorker(db, { id: worker, host: 'bench', pid: process.pid, version: '0', queues: {}, kinds }, null)
  const claimer = new Claimer(db, systemClock, { kinds })
  const claim = want =>
    claimer.claim(
      worker,
      queues.map(queue => ({ queue, want })),
    )

  return {
    claim,
    /** Outcomes as handlers would have made them; throws when one did not land. */
    async settle(claimed, outcomeOf = () => ({ state: 'succeeded', result: 'null' })) {
      const settles = claimed.map(each => ({ id: each.id, attempt: each.attempt, outcome: outcomeOf(each) }))
      const landed = await settleJobs(db, worker, settles, null)
      if (landed.size !== settles.length) throw new Error(`${settles.length - landed.size} settles did not land`)
    },
    /** What a worker asks every few seconds when nobody tells it anything. */
    async poll() {
      await lookAhead(db, queues, null)
      const claimed = await claim(10)
      if (claimed.length > 0) throw new Error('this poll was not idle')
    },
    close: () => db.close(),
  }
}
