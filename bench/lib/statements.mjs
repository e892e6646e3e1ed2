/**
 * The claim, settle and idle poll of the engine, called as the worker calls the statements, without the rest of the
 * worker: for the bare loop and for the cost of the statements.
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
    /** Settles with simulated outcomes. Throws if an outcome is not accepted. */
    async settle(claimed, outcomeOf = () => ({ state: 'succeeded', result: 'null' })) {
      const settles = claimed.map(each => ({ id: each.id, attempt: each.attempt, outcome: outcomeOf(each) }))
      const landed = await settleJobs(db, worker, settles, null)
      if (landed.size !== settles.length) throw new Error(`${settles.length - landed.size} settles did not land`)
    },
    /** The idle poll of a worker without notifications, every few seconds. */
    async poll() {
      await lookAhead(db, queues, null)
      const claimed = await claim(10)
      if (claimed.length > 0) throw new Error('this poll was not idle')
    },
    close: () => db.close(),
  }
}
