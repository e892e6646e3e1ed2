/** Opens the channel to the parent, with the same interface for a process and a thread. */
import { writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import type { Nature, ToChild, ToParent, Words } from '../child-protocol.ts'

export interface Line {
  readonly nature: Nature
  /** Throws for a message that cannot be sent. */
  send(message: ToParent): void
  hear(listener: (message: ToChild) => void): void
  /** Arrives even if the next instruction ends this process. Never throws. */
  lastWords(words: Words): void
}

/** Descriptor 4 of a process is only for last words: see src/isolation/process-child.ts. */
export function writeWords(words: Words): void {
  try {
    writeSync(4, `${JSON.stringify(words)}\n`)
  } catch {
    // The parent no longer reads the pipe.
  }
}

const ofProcess = (): Line => ({
  nature: JSON.parse(process.argv[2]!) as Nature,
  send: message => void process.send!(message),
  hear: listener => void process.on('message', listener as (message: unknown) => void),
  lastWords: writeWords,
})

const ofThread = (): Line => ({
  nature: workerData as Nature,
  send: message => parentPort!.postMessage(message),
  hear: listener => void parentPort!.on('message', listener),
  lastWords: words => parentPort!.postMessage({ type: 'words', words } satisfies ToParent),
})

export const openLine = (): Line => (isMainThread ? ofProcess() : ofThread())
