/**
 * Runs a single worker process for a supervisor, from start to end. Passes on stderr and keeps the last lines.
 *
 * Invariant: `ended` always resolves once the process has ended, even if a process started by the worker still holds stderr open.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Clock } from '../lib/clock.ts'
import { createStderrTail } from '../lib/stderr-tail.ts'
import type { CrashObservation } from './model/crash-report.ts'
import { nameLines } from './named-lines.ts'
import { memoryOf, oomCounter } from './oom-counter.ts'
import { hasStatusFile } from './status-files.ts'

export interface Program {
  /** The file for Node to run. */
  entry: string
  args: readonly string[]
  /** The options of Node itself. */
  execArgv: readonly string[]
  env: NodeJS.ProcessEnv
}

export interface SupervisedProcessOptions {
  program: Program
  /** The report folder of the process. */
  reportFolder: string
  clock: Clock
  /** If set, every line on stdout and stderr carries this number. */
  lineNumber?: number
  /** Called if the process is not ready within 60 s, and every further 60 s. `killed`: the supervisor has killed the process. */
  late: (seconds: number, killed: boolean) => void
}

export interface ProcessEnd extends Omit<CrashObservation, 'askedToStop' | 'started' | 'suspectedJob'> {
  readyMs: number | null
}

const checkMs = 1000
const claimsCheckMs = 100
const lateMs = 60_000
const tooLateMs = 120_000
/** The last lines of stderr arrive a moment after the exit, unless another process holds stderr open. */
const lastWordsMs = 500
/** The kernel counts an out-of-memory kill at its begin, and a large process takes time to exit. */
const oomReadings = 5

const neverStarted: ProcessEnd = {
  exitCode: 1,
  signal: null,
  readyMs: null,
  memoryBytes: null,
  oomBefore: null,
  oomAfter: null,
  stderr: null,
}

/** Most errors come as an event; some are thrown, and without a free file descriptor there is no stderr. */
function start({ execArgv, entry, args, env }: Program, stdout: 'inherit' | 'pipe'): ChildProcess | undefined {
  try {
    const child = spawn(process.execPath, [...execArgv, entry, ...args], { env, stdio: ['inherit', stdout, 'pipe'] })
    if (child.stderr === null || child.stderr === undefined) child.on('error', say)
    return child
  } catch (error) {
    say(error as Error)
    return undefined
  }
}

/** Passes the output of a child process on to a stream of this process. Returns a promise of the end of the output. */
function passOn(from: Readable, to: NodeJS.WriteStream, number: number | undefined, onChunk: (chunk: Buffer) => void) {
  const write = (text: Buffer) => void to.write(text)
  const lines = number === undefined ? { add: write, end() {} } : nameLines(number, write)
  from.on('data', (chunk: Buffer) => {
    onChunk(chunk)
    lines.add(chunk)
  })
  return new Promise<void>(resolve =>
    from.on('close', () => {
      lines.end()
      resolve()
    }),
  )
}

const say = ({ message }: Error): void => void process.stderr.write(`${message}\n`)

export class SupervisedProcess {
  readonly ended: Promise<ProcessEnd>
  readonly #options: SupervisedProcessOptions
  /** Undefined: the process could not be started, for example because of missing memory. */
  readonly #child: ChildProcess | undefined
  readonly #over = new AbortController()
  readonly #startedAt: number
  readonly #ooms: (number | null)[] = []
  #memory: number | null = null
  #readyAt: number | undefined

  constructor(options: SupervisedProcessOptions) {
    const { program, clock } = options
    this.#options = options
    this.#startedAt = clock.elapsed()
    this.#child = start(program, options.lineNumber === undefined ? 'inherit' : 'pipe')
    if (!this.#child?.stderr) this.#over.abort()
    this.ended = this.#child?.stderr ? this.#watch(this.#child, this.#child.stderr) : Promise.resolve(neverStarted)
  }

  send(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Tells the process to stop, unless the process knows already; kills the process after `graceMs`. */
  stop(graceMs: number): void {
    if (!hasStatusFile(this.#options.reportFolder, 'asked')) this.send('SIGTERM')
    void this.#options.clock.sleep(graceMs, this.#over.signal).then(() => {
      if (!this.#over.signal.aborted) this.send('SIGKILL')
    })
  }

  /** Resolves true once the process has claimed, false if the process has ended before. */
  async claims(): Promise<boolean> {
    const { clock, reportFolder } = this.#options
    while (!this.#over.signal.aborted) {
      if (hasStatusFile(reportFolder, 'claims')) return true
      await clock.sleep(claimsCheckMs, this.#over.signal)
    }
    return false
  }

  async #watch(child: ChildProcess, stderr: Readable): Promise<ProcessEnd> {
    const { clock } = this.#options
    const tail = createStderrTail()
    let chunks = 0
    const { lineNumber } = this.#options
    const { stdout } = child
    const said = Promise.all([
      passOn(stderr, process.stderr, lineNumber, chunk => {
        chunks++
        tail.add(chunk)
      }),
      stdout === null ? undefined : passOn(stdout, process.stdout, lineNumber, () => chunks++),
    ])
    const end = new Promise<{ exitCode: number | null; signal: string | null }>(resolve => {
      child.on('exit', (exitCode, signal) => resolve({ exitCode, signal }))
      child.on('error', error => {
        if (child.pid !== undefined) return
        // The process could not be started.
        say(error)
        resolve({ exitCode: 1, signal: null })
      })
    })
    const oomNow = oomCounter()
    void this.#watchStart(oomNow)
    const { exitCode, signal } = await end
    this.#over.abort()
    this.#checkReady()
    const readyMs = this.#readyAt === undefined ? null : clock.elapsed() - this.#readyAt
    await this.#lastWords(said, () => chunks)
    stderr.destroy()
    stdout?.destroy()
    const [oomBefore = null] = this.#ooms
    return {
      exitCode,
      signal,
      readyMs,
      memoryBytes: this.#memory,
      oomBefore,
      oomAfter: oomNow(),
      stderr: tail.text || null,
    }
  }

  /** Waits for the end of stderr, or for 500 ms of silence. */
  async #lastWords(said: Promise<unknown>, chunks: () => number): Promise<void> {
    let over = false
    const end = said.then(() => {
      over = true
    })
    for (let before = -1; !over && before !== chunks(); ) {
      before = chunks()
      await Promise.race([end, this.#options.clock.sleep(lastWordsMs)])
    }
  }

  async #watchStart(oomNow: () => number | null): Promise<void> {
    const { clock, late, reportFolder } = this.#options
    let reported = 0
    while (!this.#over.signal.aborted) {
      // Right after the start the process is still a copy of the supervisor.
      if (this.#ooms.length > 0) this.#memory = memoryOf(this.#child?.pid ?? 0) ?? this.#memory
      this.#ooms.push(oomNow())
      if (this.#ooms.length > oomReadings) this.#ooms.shift()
      this.#checkReady()
      const waited = clock.elapsed() - this.#startedAt
      if (this.#readyAt === undefined && waited >= lateMs * (reported + 1)) {
        reported++
        // A recovering database or a migration may take any time.
        const killed = waited >= tooLateMs && !hasStatusFile(reportFolder, 'database')
        late(Math.round(waited / 1000), killed)
        if (killed) this.send('SIGKILL')
      }
      await clock.sleep(checkMs, this.#over.signal)
    }
  }

  #checkReady(): void {
    if (hasStatusFile(this.#options.reportFolder, 'ready')) this.#readyAt ??= this.#options.clock.elapsed()
  }
}
