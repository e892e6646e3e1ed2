/**
 * Starts a child, process or thread: starts the watch first, then accepts runs. An uncaught error ends the child after a report; so does
 * `process.exit` in a handler. Stop signals are ignored, because the parent handles stop signals.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { builtModule } from '../../lib/package-root.ts'
import { crashReportFolderVariable } from '../../supervisor/suspected-job-file.ts'
import type { Nature } from '../child-protocol.ts'
import { packError } from '../error-wire.ts'
import { openChannel } from './channel.ts'
import { ChildRunner } from './child-runner.ts'

// A child must not write crash report files of the worker: a crash here is no crash of the worker.
delete process.env[crashReportFolderVariable]

const channel = openChannel()
const childRunner = new ChildRunner(channel)

process.on('uncaughtException', error => {
  channel.lastWords({ how: 'uncaught', run: childRunner.currentRun, error: packError(error) })
  process.exit(1)
})
process.on('exit', code => {
  const { stack = '' } = new Error('process.exit')
  channel.lastWords({ how: 'exit', run: childRunner.currentRun, code, stack })
})

if (isMainThread) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  await watched(channel.nature)
}
channel.onMessage(message => childRunner.receive(message))
channel.send({ type: 'ready' })

/** Resolves once the watch thread runs, which a blocked loop cannot stop. */
async function watched(nature: Nature): Promise<void> {
  const watch = new Worker(builtModule('isolation/child/memory-watch.js'), {
    workerData: { nature, parent: process.ppid },
  })
  watch.unref()
  await new Promise((resolve, reject) => {
    watch.once('message', resolve)
    watch.once('error', reject)
  })
}
