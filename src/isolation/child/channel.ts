/** Opens the channel to the parent, with the same interface for a process and a thread. */
import { writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import type { LastMessage, Nature, ToChild, ToParent } from '../child-protocol.ts'

export interface Channel {
  readonly nature: Nature
  /** Throws for a message that cannot be sent. */
  send(message: ToParent): void
  onMessage(listener: (message: ToChild) => void): void
  /** Arrives even if the next instruction ends this process. Never throws. */
  lastWords(words: LastMessage): void
}

/** Descriptor 4 of a process is only for last words: see src/isolation/process-child.ts. */
export function writeLastWords(words: LastMessage): void {
  try {
    writeSync(4, `${JSON.stringify(words)}\n`)
  } catch {
    // The parent no longer reads the pipe.
  }
}

const ofProcess = (): Channel => ({
  nature: JSON.parse(process.argv[2]!) as Nature,
  send: message => void process.send!(message),
  onMessage: listener => void process.on('message', listener as (message: unknown) => void),
  lastWords: writeLastWords,
})

const ofThread = (): Channel => ({
  nature: workerData as Nature,
  send: message => parentPort!.postMessage(message),
  onMessage: listener => void parentPort!.on('message', listener),
  lastWords: words => parentPort!.postMessage({ type: 'words', words } satisfies ToParent),
})

export const openChannel = (): Channel => (isMainThread ? ofProcess() : ofThread())
