/**
 * Starts a child as a process at the head of a process group: processes started by the child die with the child. The child receives
 * messages by IPC, and writes last words synchronously to a second pipe (descriptor 4): last words arrive even if the next instruction ends
 * the child.
 *
 * The child shares our stdout; stderr is passed on, and its last part kept.
 */
import { fork } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../lib/clock.ts'
import { type Child, type ChildExit, isOurs, killWithinMs, passStderrOn } from './child.ts'
import { childEntry, processArguments } from './child-command.ts'
import { childEnvironment } from './child-environment.ts'
import type { LastMessage, Nature, ToChild, ToParent } from './child-protocol.ts'

/**
 * Linux has a niceness for each thread, and a thread inherits the niceness of its creator. The collection of garbage in the threads of V8 is a
 * large part of the work, and on a busy machine the child may have started these threads already. So every thread gets the niceness, the main
 * thread first, until no thread is new. Where the kernel groups processes by session (autogroup), niceness counts only within a group, and
 * the child is the head of a session: the group then needs the niceness too.
 */
export function lowerPriority(pid: number, nice: number): void {
  try {
    setPriority(pid, nice)
    if (process.platform !== 'linux') return
    const done = new Set([String(pid)])
    for (let found = true; found; ) {
      const threads = readdirSync(`/proc/${pid}/task`).filter(thread => !done.has(thread))
      for (const thread of threads) lowerThread(Number(thread), nice)
      for (const thread of threads) done.add(thread)
      found = threads.length > 0
    }
    writeFileSync(`/proc/${pid}/autogroup`, String(nice))
  } catch {
    // The child has ended, or the platform has no groups or refuses: the function runs at a higher priority.
  }
}

function lowerThread(thread: number, nice: number): void {
  try {
    setPriority(thread, nice)
  } catch {
    // The thread has ended.
  }
}

/** The time for reading the pipes of a dead child, because processes started by the child may hold the pipes open. */
const drainMs = 200

export function startProcess(nature: Nature): Child {
  const child = fork(fileURLToPath(childEntry), [JSON.stringify(nature)], {
    execArgv: processArguments(nature.memoryBytes),
    env: childEnvironment(nature.environment),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'pipe', 'ipc', 'pipe'],
    detached: true,
  })
  if (child.pid !== undefined && nature.nice) lowerPriority(child.pid, nature.nice)
  // A child that failed to start for lack of descriptors has no pipes.
  const stderr = passStderrOn(child.stderr?.on('error', () => {}))
  const said = new LastWords(child.stdio?.[4] as Readable | undefined)

  let deliver: (message: ToParent) => void = () => {}
  const died = new Promise<ChildExit>(resolve => {
    const remains = (signal: string | null, exitCode: number | null, error: unknown): ChildExit => {
      const { words, memoryBytes, begun } = said
      return { signal, exitCode, memoryBytes, stderr: stderr.text, words, begun, error }
    }
    // The listener stays: an `error` event without a listener would end this process.
    child.on('error', error => {
      if (child.pid === undefined) resolve(remains(null, null, error))
    })
    child.once('exit', async (exitCode, signal) => {
      signalGroup(child.pid!)
      const closed = new AbortController()
      child.once('close', () => closed.abort())
      await systemClock.sleep(drainMs, closed.signal)
      resolve(remains(signal, exitCode, undefined))
    })
  })
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: unknown) => {
      if (!isOurs(message)) return
      if (message.type === 'ready') resolve()
      else deliver(message)
    })
    void died.then(reject)
  })
  ready.catch(() => {})

  return {
    ready,
    died,
    get isThere() {
      return child.connected && child.exitCode === null && child.signalCode === null
    },
    send(message: ToChild) {
      // `died` reports a dead child.
      if (child.connected) child.send(message, () => {})
    },
    onMessage(listener) {
      deliver = listener
    },
    async kill() {
      if (child.pid !== undefined) signalGroup(child.pid)
      child.kill('SIGKILL')
      const late = new AbortController()
      const dead = await Promise.race([
        died.then(() => true),
        systemClock.sleep(killWithinMs, late.signal).then(() => false),
      ])
      late.abort()
      return dead
    },
    stolenMs: () => (child.pid === undefined ? 0 : stolenFrom(child.pid)),
    works(is) {
      const what = is ? 'ref' : 'unref'
      child[what]()
      child.channel?.[what]?.()
      for (const pipe of [child.stderr, child.stdio[4]]) (pipe as unknown as { ref(): void; unref(): void })?.[what]?.()
    },
  }
}

/** The second number of schedstat: nanoseconds on a run queue. Measures the main thread, which runs the handler. */
function stolenFrom(pid: number): number {
  if (process.platform !== 'linux') return 0
  try {
    const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')
    return Number(waited) / 1e6 || 0
  } catch {
    // The process is gone, or the kernel does not count this time.
    return 0
  }
}

function signalGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has no processes left.
  }
}

/** Reads JSON lines. The child reports its run and its memory from time to time; about its end only the first line counts. */
class LastWords {
  words: LastMessage | null = null
  memoryBytes: number | null = null
  begun = 0
  #rest = ''

  constructor(stream: Readable | undefined) {
    if (stream === undefined) return
    stream.setEncoding('utf8')
    stream.on('error', () => {})
    stream.on('data', (text: string) => this.#take(text))
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) {
      try {
        this.#onMessage(JSON.parse(line) as LastMessage)
      } catch {
        // A handler may write to this descriptor by mistake.
      }
    }
  }

  #onMessage(words: LastMessage): void {
    if (words.how === 'begun') {
      this.begun = words.run
      return
    }
    if (words.how === 'memory') this.memoryBytes = words.bytes
    if (words.how !== 'memory' || words.over) this.words ??= words
  }
}
