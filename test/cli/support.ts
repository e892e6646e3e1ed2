/**
 * Shared parts of the tests of the command line: temporary folders, processes of the built program, and the built program inside this
 * process. A command inside this process takes a tenth of the time of a process.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, expect } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'

/** The package of the classifier, as a config in any folder imports it. */
export const classifierPackage = fileURLToPath(new URL('../../apps/classifier/dist/index.js', import.meta.url))

/** The config of a deployment of the classifier alone. */
export const classifierConfig = `import { classifier } from '${classifierPackage}'
export default { systems: [classifier()] }
`

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const program = new URL('../../dist/cli/program.js', import.meta.url).href

/** Creates a folder with these files; `keep`: for all tests of the file, not for one test. */
export function folderWith(files: Record<string, string> = {}, keep: 'test' | 'file' = 'test'): string {
  if (expect.getState().testPath !== hooksOf) {
    throw new Error(
      'the hooks below belong to another test file: this file must not share a process (vitest.config.ts)',
    )
  }
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-cli-')))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  folders[keep].push(folder)
  return folder
}

/** The test file for which the hooks below are registered: in a process that test files share, a module is evaluated for the first only. */
const hooksOf = expect.getState().testPath
const folders = { test: [] as string[], file: [] as string[] }
const remove = (which: 'test' | 'file') => {
  for (const folder of folders[which].splice(0)) {
    const left = processesIn(folder)
    for (const each of left) kill(Number.parseInt(each, 10))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    expect(left, `processes left behind in ${folder}`).toEqual([])
  }
}
afterEach(() => remove('test'))
afterAll(() => remove('file'))

interface Surroundings {
  folder: string
  env?: Record<string, string>
  /** What is written to its stdin. */
  input?: string
  /** The file its stdin is, as in a shell's `< file`. */
  from?: string
  /** In a terminal of 24 lines and 80 columns, on which it is typed; stdout is then all it shows. */
  terminal?: true
  /** The command after a pipe, such as `head -n 1`; stdout and the end then belong to this command. */
  pipe?: string
}

/** Whether this machine has the program that makes a terminal. */
export const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Program {
  readonly ended: Promise<Ended>
  /** Resolves with stdout once it holds this text; fails when the program ends or a minute passes before. */
  said(text: string): Promise<string>
  /** The same with stderr. */
  noted(text: string): Promise<string>
  tell(signal: NodeJS.Signals): void
  /** Keys, for what runs in a terminal. */
  type(keys: string): void
  /** Tells it and the programs it runs, as Ctrl-C in a terminal does. */
  tellAll(signal: NodeJS.Signals): void
}

export function start(args: readonly string[], { folder, env, input, from, terminal, pipe }: Surroundings): Program {
  const file = from === undefined ? undefined : openSync(from, 'r')
  const typed = `${process.execPath} ${main} ${args.join(' ')}`
  const [executable, given] = terminal
    ? ['script', ['-qefc', `stty rows 24 cols 80; exec ${typed}`, '/dev/null']]
    : pipe
      ? ['sh', ['-c', `${typed} | ${pipe}`]]
      : [process.execPath, [main, ...args]]
  const child = spawn(executable, given, {
    cwd: folder,
    env: environmentIn(folder, env),
    // A process group of its own, which is what a terminal signals.
    detached: true,
    stdio: [file ?? (input === undefined && !terminal ? 'ignore' : 'pipe'), 'pipe', 'pipe'],
  })
  if (file !== undefined) closeSync(file)
  if (!terminal) child.stdin?.end(input)
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', chunk => {
    stdout += chunk
  })
  child.stderr!.on('data', chunk => {
    stderr += chunk
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return {
    ended,
    tell: signal => void child.kill(signal),
    type: keys => void child.stdin!.write(keys),
    tellAll: signal => void process.kill(-child.pid!, signal),
    said: text => heard(text, () => stdout),
    noted: text => heard(text, () => stderr),
  }

  async function heard(text: string, from: () => string): Promise<string> {
    let over = false
    void ended.then(() => {
      over = true
    })
    await eventually(
      () => over || from().includes(text),
      () => `it says ${text}\n${stdout}${stderr}`,
    )
    if (!from().includes(text)) throw new Error(`it ended without saying ${text}\n${stdout}${stderr}`)
    return from()
  }
}

const environmentIn = (folder: string, env?: Record<string, string>) => ({
  PATH: process.env.PATH,
  HOME: folder,
  TMPDIR: tmpdir(),
  LANG: 'C.UTF-8',
  TERM: 'xterm',
  ...env,
})

/** A command that ends by itself: in this process, or in a process of its own if the command needs a real stdin, stdout or supervisor. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const { from, terminal, pipe } = surroundings
  const isService = args.some(each => services.includes(each)) && !args.includes('--once')
  const needsProcess = from !== undefined || terminal || pipe !== undefined || isService
  return needsProcess ? spawned(args, surroundings) : inProcess(args, surroundings)
}

/** Commands that run until a signal ends the process; `up` and `worker` run below a supervisor. */
const services = ['up', 'worker', 'serve', 'watchdog']

/** The same in a process of its own. */
export async function spawned(args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const program = start(args, surroundings)
  let over = false
  void program.ended.then(() => {
    over = true
  })
  await eventually(
    () => over,
    () => `retoma ${args.join(' ')} ends`,
  ).finally(() => over || program.tell('SIGTERM'))
  return program.ended
}

let before: Promise<unknown> = Promise.resolve()

/** One command after the other: the folder, the environment and the streams belong to the whole process. */
function inProcess(args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const ended = before.then(() => runHere(args, surroundings))
  before = ended.catch(() => {})
  return ended
}

async function runHere(args: readonly string[], { folder, env, input }: Surroundings): Promise<Ended> {
  const { main } = (await import(/* @vite-ignore */ program)) as { main: (argv: readonly string[]) => Promise<number> }
  const [stdout, stderr] = [new Collected(), new Collected()]
  const undo = [
    replaceFolder(folder),
    replaceEnvironment(environmentIn(folder, env)),
    ...Object.entries({ stdin: Readable.from(input === undefined ? [] : [input]), stdout, stderr }).map(replaceStream),
  ]
  try {
    return { code: await main(args), signal: null, stdout: stdout.text, stderr: stderr.text }
  } finally {
    for (const each of undo) each()
  }
}

class Collected extends Writable {
  text = ''
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk
    done()
  }
}

function replaceFolder(folder: string): () => void {
  const usual = process.cwd()
  process.chdir(folder)
  return () => process.chdir(usual)
}

function replaceEnvironment(env: Record<string, string | undefined>): () => void {
  const usual = { ...process.env }
  const set = (values: Record<string, string | undefined>) => {
    for (const name of Object.keys(process.env)) delete process.env[name]
    for (const [name, value] of Object.entries(values)) if (value !== undefined) process.env[name] = value
  }
  set(env)
  return () => set(usual)
}

function replaceStream([name, stream]: [string, Readable | Writable]): () => void {
  const usual = Object.getOwnPropertyDescriptor(process, name)!
  Object.defineProperty(process, name, { configurable: true, value: stream })
  return () => void Object.defineProperty(process, name, usual)
}

/** The answer of a command with --json. */
export async function answer<T = Record<string, unknown>>(
  args: readonly string[],
  surroundings: Surroundings,
): Promise<T> {
  const { stdout, stderr } = await run([...args, '--json'], surroundings)
  try {
    return JSON.parse(stdout) as T
  } catch {
    throw new Error(`no JSON document: ${stdout}${stderr}`)
  }
}

async function eventually(condition: () => boolean, what: () => string, seconds = 60): Promise<void> {
  const deadline = systemClock.now().getTime() + seconds * 1000
  while (!condition()) {
    if (systemClock.now().getTime() > deadline) throw new Error(`not within ${seconds} s: ${what()}`)
    await systemClock.sleep(20)
  }
}

/** SIGKILL; a process that has ended meanwhile is no error. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended since it was seen.
  }
}

/** Processes that work in this folder or below, a server left behind, each as its pid, its state and its command. */
export function processesIn(folder: string): string[] {
  return readdirSync('/proc').flatMap(pid => {
    try {
      if (!/^\d+$/.test(pid) || !readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)) return []
      const state = /^State:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return [`${pid} ${state} ${command}`]
    } catch {
      return []
    }
  })
}
