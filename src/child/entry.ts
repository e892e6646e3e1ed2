/**
 * Where a child begins, process or thread: watched over first, then ready for errands. An error that nobody caught ends it,
 * after it was told; so does a handler that calls process.exit. Signals to stop are the parent's to hear.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { packError } from '../isolation/packed-error.ts'
import type { Nature } from '../isolation/wire.ts'
import { papersVariable } from '../supervisor/papers.ts'
import { currentRun, Errands } from './errand.ts'
import { openLine } from './line.ts'

// The worker's papers are not ours to write: what dies here is not the worker.
delete process.env[papersVariable]

const line = openLine()
const errands = new Errands(line)

process.on('uncaughtException', error => {
  line.lastWords({ how: 'uncaught', run: currentRun(), error: packError(error) })
  process.exit(1)
})
process.on('exit', code => {
  const { stack = '' } = new Error('process.exit')
  line.lastWords({ how: 'exit', run: currentRun(), code, stack })
})

if (isMainThread) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  await watched(line.nature)
}
line.hear(message => errands.hear(message))
line.send({ type: 'ready' })

/** Resolves once somebody looks after this process who is not kept from it by a loop. */
async function watched(nature: Nature): Promise<void> {
  const watch = new Worker(new URL('./watch.js', import.meta.url), { workerData: { nature, parent: process.ppid } })
  watch.unref()
  await new Promise((resolve, reject) => {
    watch.once('message', resolve)
    watch.once('error', reject)
  })
}
