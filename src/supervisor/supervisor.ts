/**
 * The parent of a worker's process: starts it, passes on what it is told, and when the process dies writes down of what and
 * starts it again. It has no database and loads next to nothing, so that what kills its child spares it.
 *
 * Invariant: there is at most one child, and none when `supervise` resolves. A certificate is written before the process that
 * will use it is started. A child whose supervisor is killed notices and stops (cli/signals.ts).
 */
import { hours } from '../core/duration.ts'
import { afterEnd, firstStanding } from '../core/restart.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { loop } from '../lib/service.ts'
import { Boot, type BootEnd, type Program } from './boot.ts'
import { writeCertificate } from './certificates.ts'
import type { Folder } from './folder.ts'
import { holdInquest } from './inquest.ts'
import { isMarked } from './marks.ts'
import { tellDeath, tellLate } from './news.ts'
import { hearOrders } from './orders.ts'
import { certificatesVariable, papersVariable, supervisorVariable } from './papers.ts'

export interface SuperviseOptions {
  program: Program
  folder: Folder
  clock: Clock
  /** Made when there is something to say: most supervisors never have. */
  log: () => Promise<Log>
}

/** How the last child ended, and so how its supervisor does. */
export type Ending = Pick<BootEnd, 'exitCode' | 'signal'>

/** How long a child that was told twice has for leaving. */
const leaveAtOnceMs = 1000

export async function supervise({ program, folder, clock, log }: SuperviseOptions): Promise<Ending> {
  let boot: Boot | undefined
  let papers = ''
  const stop = hearOrders({
    clock,
    first: signal => {
      // A terminal tells every process of a group: one that has heard it must not take ours for a second one.
      if (!isMarked(papers, 'asked')) boot?.tell(signal)
    },
    again: signal => {
      boot?.tell(signal)
      void clock.sleep(leaveAtOnceMs).then(() => boot?.tell('SIGKILL'))
    },
  })
  const fresh = loop({
    clock,
    every: hours(1),
    tick: async () => void folder.touch(),
    failed: () => {},
  })
  let standing = firstStanding
  try {
    for (;;) {
      papers = folder.papers()
      const variables = { [papersVariable]: papers, [certificatesVariable]: folder.certificates }
      const env = { ...program.env, ...variables, [supervisorVariable]: String(process.pid) }
      const late = (seconds: number, killed: boolean) => void log().then(told => tellLate(told, seconds, killed))
      boot = new Boot({ program: { ...program, env }, papers, clock, late })
      const end = await boot.ended
      boot = undefined
      const next = afterEnd(standing, { ...end, stopping: stop.aborted })
      if (next.do === 'end') return end
      standing = next.standing
      const { death, certificates } = holdInquest(papers, end)
      const told = await log()
      try {
        for (const each of certificates) writeCertificate(folder.certificates, each)
      } catch (error) {
        told.warn({ err: error }, 'the death certificate could not be written; the watchdog finds what was running')
      }
      tellDeath(told, death, next, end.readyMs !== null)
      await clock.sleep(next.afterMs, stop)
      if (stop.aborted) return { exitCode: 0, signal: null }
    }
  } finally {
    void fresh.stop()
    folder.remove()
  }
}
