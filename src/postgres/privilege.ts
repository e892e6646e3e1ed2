/**
 * Who runs PostgreSQL, which refuses to run as root. An ordinary user runs it himself. Root runs it in a user
 * namespace where he is called nobody (his files stay his own), or, where namespaces are forbidden as in Docker, as
 * another user. Chosen once per open by home.ts; used for every program that init and start run.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { type Machine, nobody } from './machine.ts'

export type Runner =
  | { as: 'self'; uid: number; gid: number }
  | { as: 'namespace'; uid: number; gid: number; unshare: string }
  | { as: 'user'; uid: number; gid: number }

export interface Ran {
  code: number
  output: string
}

/** PG* variables of the user stay out: they would change the port, the folder, the rights. */
export function begin(
  runner: Runner,
  file: string,
  args: string[],
  options: Pick<SpawnOptions, 'stdio' | 'detached'>,
): ChildProcess {
  const [program, ...rest] =
    runner.as === 'namespace' ? [runner.unshare, ...inNamespace(), file, ...args] : [file, ...args]
  return spawn(program!, rest, {
    ...options,
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    ...(runner.as === 'user' ? { uid: runner.uid | 0, gid: runner.gid | 0 } : {}),
  })
}

/**
 * Runs a program to its end. It has a session of its own: Ctrl-C in the terminal is for Retoma, which ends in order once
 * this is done. Should Retoma end at once instead, it takes the program along.
 */
export function run(runner: Runner, file: string, args: string[]): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = begin(runner, file, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const takeAlong = () => endGroup(child.pid)
    process.once('exit', takeAlong)
    child.on('exit', () => process.off('exit', takeAlong))
    let output = ''
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', chunk => {
        output += chunk
      })
    child.on('error', error => {
      process.off('exit', takeAlong)
      reject(error)
    })
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 128, output: signal ? `${output}\nended by ${signal}` : output }),
    )
  })
}

/** The program and those it runs. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

export function self(machine: Machine): Runner {
  return { as: 'self', uid: machine.uid, gid: machine.gid }
}

export async function namespace(machine: Machine): Promise<Runner | undefined> {
  const runner: Runner = { as: 'namespace', uid: machine.uid, gid: machine.gid, unshare: machine.unshare }
  return (await succeeds(runner, 'true', [])) ? runner : undefined
}

/** Whether this runner can run the program and do `may` ('w': write into, 'x': go through) with the folder. */
export function reaches(runner: Runner, program: string, folder: string, may: 'w' | 'x'): Promise<boolean> {
  return succeeds(runner, 'sh', ['-c', `"$1" --version && test -x "$2" && test -${may} "$2"`, 'sh', program, folder])
}

async function succeeds(runner: Runner, file: string, args: string[]): Promise<boolean> {
  try {
    return (await run(runner, file, args)).code === 0
  } catch {
    return false
  }
}

function inNamespace(): string[] {
  const { uid, gid } = nobody()
  return ['--user', `--map-user=${uid}`, `--map-group=${gid}`]
}
