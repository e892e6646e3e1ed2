/**
 * Who runs PostgreSQL, which refuses to run as root. An ordinary user runs it himself. Root runs it as another user, one that
 * may read nothing of root's. Chosen once per open by home.ts; used for every program that init and start run.
 *
 * Data may lie below a folder that only root may enter, such as /root. Then the program has a view of the file system of its own
 * (a mount namespace): the closed folder is empty there but for what the program needs.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import type { Machine } from './machine.ts'
import type { Owner } from './owner.ts'

export interface UserRunner extends Owner {
  as: 'user'
  /** The program that makes a view where one is needed; undefined: none can be made here. */
  unshare?: string | undefined
}

export type Runner = ({ as: 'self' } & Owner) | UserRunner

export interface Ran {
  code: number
  output: string
}

type BeginOptions = Pick<SpawnOptions, 'stdio' | 'detached'> & {
  /** Folders that the program works in, beside the one it lies in. */
  needs?: readonly string[]
}

/** PG* variables of the user stay out: they would change the port, the folder, the rights. */
export function begin(
  runner: Runner,
  file: string,
  args: readonly string[],
  { needs = [], ...options }: BeginOptions,
): ChildProcess {
  const own = { ...options, cwd: '/', env: { PATH: path(), LC_ALL: 'C', TZ: 'UTC' } }
  if (runner.as === 'self') return spawn(file, args, own)
  const { uid, gid, unshare } = runner
  const needed = [...needs, ...(isAbsolute(file) ? [dirname(dirname(file))] : [])]
  const closed = unshare === undefined ? [] : closedTo(runner, needed)
  if (closed.length === 0) return spawn(file, args, { ...own, uid: uid | 0, gid: gid | 0 })
  const shown = needed.filter(each => closed.some(folder => isBelow(each, folder)))
  const view = ['--mount', '--propagation', 'private', 'sh', '-c', viewScript, 'sh']
  const words = [`${uid}`, `${gid}`, `${shown.length}`, ...shown, `${closed.length}`, ...closed, file, ...args]
  return spawn(unshare!, [...view, ...words], own)
}

/** Where programs of the system lie; those that make a view are for administrators. */
const path = (): string => `${process.env.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/sbin`

// The folders to show are opened first, then what is closed is covered, then each is put where it was. mount would make a path of
// a descriptor, which leads under the cover: hence -c. The programs are named by nothing that the data's owner could have put there.
const viewScript = `
set -e
uid=$1 gid=$2 shown=$3; shift 3
n=0
while [ $n -lt "$shown" ]; do eval "exec $((n + 3))<\\"\\$1\\""; eval "path$n=\\$1"; shift; n=$((n + 1)); done
closed=$1; shift
while [ "$closed" -gt 0 ]; do mount -n -t tmpfs -o mode=0755,size=1m none "$1"; shift; closed=$((closed - 1)); done
n=0
while [ $n -lt "$shown" ]; do
  eval "path=\\$path$n"
  mkdir -p "$path"
  mount -n -c --bind "/proc/self/fd/$((n + 3))" "$path"
  eval "exec $((n + 3))<&-"
  n=$((n + 1))
done
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs "$@"
`

/** Of the folders above these, the topmost ones that the user may not go through. */
function closedTo(user: Owner, needed: readonly string[]): string[] {
  const closed = needed.flatMap(each => {
    const above: string[] = []
    for (let folder = dirname(each); folder !== dirname(folder); folder = dirname(folder)) above.unshift(folder)
    return above.find(folder => !mayEnter(user, folder)) ?? []
  })
  return [...new Set(closed)].filter(each => !closed.some(other => each !== other && isBelow(each, other)))
}

const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`)

function mayEnter({ uid, gid }: Owner, folder: string): boolean {
  try {
    const found = statSync(folder)
    const bit = found.uid === uid ? 0o100 : found.gid === gid ? 0o010 : 0o001
    return (found.mode & bit) !== 0
  } catch {
    return true
  }
}

/**
 * Runs a program to its end. It has a session of its own: Ctrl-C in the terminal is for Retoma, which ends in order once
 * this is done. Should Retoma end at once instead, it takes the program along.
 */
export function run(
  runner: Runner,
  file: string,
  args: readonly string[],
  needs: readonly string[] = [],
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = begin(runner, file, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, needs })
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

export const asUser = ({ uid, gid }: Owner): UserRunner => ({ as: 'user', uid, gid })

/** That user, with a view where one can be made. For root's own ground alone: what lies elsewhere could be changed meanwhile. */
export async function asUserWithView({ uid, gid }: Owner, machine: Machine): Promise<Runner> {
  const plain = asUser({ uid, gid })
  const { unshare } = machine
  const script =
    'mount -n -t tmpfs none "$1" && exec setpriv --reuid "$2" --regid "$3" --clear-groups --no-new-privs true'
  const tried = [
    '--mount',
    '--propagation',
    'private',
    'sh',
    '-c',
    script,
    'sh',
    machine.shortFolder,
    `${uid}`,
    `${gid}`,
  ]
  return (await succeeds(self(machine), unshare, tried)) ? { ...plain, unshare } : plain
}

/** Whether this runner can run the program and do `may` ('w': write into, 'x': go through) with the folder. */
export function reaches(runner: Runner, program: string, folder: string, may: 'w' | 'x'): Promise<boolean> {
  const script = `"$1" --version && test -x "$2" && test -${may} "$2"`
  const native = isAbsolute(program) ? [dirname(dirname(program))] : []
  return succeeds(runner, 'sh', ['-c', script, 'sh', program, folder], [folder, ...native])
}

async function succeeds(runner: Runner, file: string, args: string[], needs: string[] = []): Promise<boolean> {
  try {
    return (await run(runner, file, args, needs)).code === 0
  } catch {
    return false
  }
}
