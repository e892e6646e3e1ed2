/** What a death certificate changes in the database: the worker is dead at once, without anybody waiting for its beat. */
import type { Death } from '../core/death.ts'
import type { Db } from './db.ts'
import { type Recovered, recoverOrphans } from './recover.ts'

const bite = 500

const bury = {
  name: 'worker_bury',
  text: `
    update retoma.worker set dead_at = coalesce(dead_at, $3::timestamptz, now()), death = $2
    where id = $1`,
}

/** Safe to repeat. Answers what was taken from the dead. */
export async function buryWorker(db: Db, worker: string, death: Death, now: Date | null): Promise<Recovered[]> {
  await db.run(bury, [worker, JSON.stringify(death), now])
  return recoverOrphans(db, bite, now)
}
