/**
 * Creates Open Finance, a part of the documents system: bank accounts and transactions through Pluggy, in a queue of its own, so that neither
 * the API nor the PDFs wait for a bank.
 */
import { type Engine, milliseconds } from 'retoma'
import { clockOf, type System } from 'retoma/http'
import { pluggyProvider } from './pluggy.ts'
import { openFinanceRoutes } from './routes.ts'
import { type OpenFinanceSettings, readOpenFinanceSettings } from './settings.ts'
import { type Pause, simulatedPluggy } from './simulated.ts'
import { createSyncJob, syncQueue } from './sync-job.ts'
import { createTidySchedule } from './syncs.ts'
import type { BankProvider } from './types.ts'

export interface OpenFinanceOptions {
  /** Default: the variables PLUGGY_* of the environment. */
  settings?: OpenFinanceSettings
  /** The simulated Pluggy takes as long as the real one. Default true. */
  simulatedDelays?: boolean
  /** In place of the provider that the settings name, for tests. */
  provider?: BankProvider
}

type Parts = Required<Pick<System, 'jobs' | 'schedules' | 'queues' | 'limits' | 'routes' | 'simulated' | 'attached'>>

/** `engine`: the engine of the system, once the engine is attached. */
export function openFinance(options: OpenFinanceOptions, engine: () => Engine): Parts {
  const { settings = readOpenFinanceSettings(), simulatedDelays = true } = options
  const pause: Pause = (ms, signal) =>
    simulatedDelays ? clockOf(engine()).sleep(milliseconds(ms), signal) : Promise.resolve()
  const provider =
    options.provider ??
    (settings.pluggy === undefined
      ? simulatedPluggy(pause, () => clockOf(engine()).now())
      : pluggyProvider({ ...settings.pluggy, engine }))
  const job = createSyncJob({ provider, engine })
  const schedule = createTidySchedule(engine)
  return {
    jobs: [job],
    schedules: [schedule],
    queues: { [syncQueue]: settings.concurrency },
    // The syncs of a user run one after the other.
    limits: { [syncQueue]: { perGroup: { concurrency: 1 } } },
    routes: openFinanceRoutes({ job, provider }),
    simulated: provider.simulated ? ['pluggy'] : [],
    attached: [job, schedule.job],
  }
}
