/**
 * Starts a child as a thread: cheaper than a process, and less isolated. The heap is bounded, and an endless loop can be ended; a crash in
 * native code ends this process too, and a thread stuck in native code cannot be ended.
 */
import { Worker } from 'node:worker_threads'
import { systemClock } from '../lib/clock.ts'
import { type Child, type ChildExit, isOurs, killWithinMs, passStderrOn } from './child.ts'
import { childEntry } from './child-command.ts'
import { childEnvironment } from './child-environment.ts'
import type { LastMessage, Nature, ToChild, ToParent } from './child-protocol.ts'

export function startThread(nature: Nature): Child {
  const { memoryBytes } = nature
  const worker = new Worker(childEntry, {
    workerData: nature,
    env: childEnvironment(nature.environment),
    stderr: true,
    ...(memoryBytes === null
      ? {}
      : { resourceLimits: { maxOldGenerationSizeMb: Math.floor(memoryBytes / 1024 / 1024) } }),
  })
  const stderr = passStderrOn(worker.stderr)

  let deliver: (message: ToParent) => void = () => {}
  let words: LastMessage | null = null
  let error: unknown
  worker.on('error', thrown => {
    error = thrown
  })
  const died = new Promise<ChildExit>(resolve =>
    worker.once('exit', exitCode =>
      resolve({ signal: null, exitCode, memoryBytes: null, stderr: stderr.text, words, begun: undefined, error }),
    ),
  )
  const ready = new Promise<void>((resolve, reject) => {
    worker.on('message', (message: unknown) => {
      if (!isOurs(message)) return
      if (message.type === 'ready') resolve()
      else if (message.type === 'words') words ??= message.words
      else deliver(message)
    })
    void died.then(reject)
  })
  ready.catch(() => {})

  return {
    ready,
    died,
    // Node sets the id of an ended thread to -1.
    get isThere() {
      return worker.threadId !== -1
    },
    send: (message: ToChild) => worker.postMessage(message),
    onMessage(listener) {
      deliver = listener
    },
    async kill() {
      worker.terminate().catch(() => {})
      const late = new AbortController()
      const dead = await Promise.race([
        died.then(() => true),
        systemClock.sleep(killWithinMs, late.signal).then(() => false),
      ])
      late.abort()
      // The thread must not keep this process from ending, as far as possible.
      if (!dead) worker.unref()
      return dead
    },
    stolenMs: () => 0,
    works: is => (is ? worker.ref() : worker.unref()),
  }
}
