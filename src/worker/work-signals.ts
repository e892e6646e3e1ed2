/**
 * Stops a worker on SIGTERM and SIGINT, for `engine.work({ signals: true })`. The first signal stops the worker. If no code of the
 * application listens to the signal, the engine closes, and the process ends by the signal, as a process without listeners does. A second
 * signal more than 500 ms later exits at once with code 1.
 *
 * Invariant: after the worker has stopped, for any reason, no listener of this file is left.
 */
import type { Log } from '../lib/logging/log.ts'
import { onStopSignals, othersListenTo } from '../lib/process/stop-signals.ts'

export interface SignalledWorker {
  readonly id: string
  /** Resolves when the worker has stopped, for any reason. */
  readonly stopped: Promise<void>
  stop(): Promise<void>
}

export function stopOnSignals(worker: SignalledWorker, close: () => Promise<void>, log: Log): void {
  let isEnding = false
  const signals = onStopSignals({
    names: ['SIGTERM', 'SIGINT'],
    first(name) {
      isEnding = true
      const isOurs = !othersListenTo(name)
      log.info({ worker: worker.id, signal: name }, 'a signal stops this worker')
      void end(name, isOurs)
    },
    again: () => process.exit(1),
  })
  void worker.stopped.then(() => {
    if (!isEnding) signals.forget()
  })

  async function end(name: NodeJS.Signals, isOurs: boolean): Promise<void> {
    await worker.stop()
    if (isOurs) await close().catch(error => log.warn({ err: error }, 'the engine did not close cleanly'))
    signals.forget()
    // Other workers of this process may still stop; the last worker ends the process.
    if (isOurs && process.listenerCount(name) === 0) process.kill(process.pid, name)
  }
}
