/**
 * Runs programs as the right user, because PostgreSQL refuses to run as root. An ordinary user runs PostgreSQL directly. Root runs
 * PostgreSQL as another user without access to root's files. embedded-postgres/data-dir.ts chooses the user once per open; init and start run every program
 * this way.
 *
 * Data may be below a folder that only root may enter, such as /root. Then the program gets its own view of the file system (a mount
 * namespace): in this view the closed folder is empty except for the folders needed by the program.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import type { Owner } from './file-owner.ts'
import type { Platform } from './platform.ts'

export interface UserRunner extends Owner {
  as: 'user'
  /** The program to make a view if needed; undefined: a view is not possible here. */
  unshare?: string | undefined
}

export type Runner = ({ as: 'self' } & Owner) | UserRunner

export interface Ran {
  code: number
  output: string
}

type BeginOptions = Pick<SpawnOptions, 'stdio' | 'detached'> & {
  /** The folders in which the program works, besides the program's own folder. */
  needs?: readonly string[]
}

/** PG* variables of the user stay out: the variables would change the port, the folder, the rights. */
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

/** The folders of system programs; the programs for a view are in the folders for administrators. */
const path = (): string => `${process.env.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/sbin`

// The script opens the folders to show, then covers the closed folders, then mounts each shown folder at the old path. mount would turn a
// descriptor into a path, which leads under the cover: hence -c. The program names contain nothing that the owner of the data could have
// put there.
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

/** The topmost folders above `needed` that the user may not enter. */
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
 * Runs a program to the end. The program has a session of its own: Ctrl-C in the terminal goes to Retoma, which ends in order after the
 * program. If Retoma ends at once instead, Retoma kills the program.
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

/** Kills the program and the programs started by it. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The program has already ended.
  }
}

export function self(platform: Platform): Runner {
  return { as: 'self', uid: platform.uid, gid: platform.gid }
}

export const asUser = ({ uid, gid }: Owner): UserRunner => ({ as: 'user', uid, gid })

/** The user, with a view if possible. Only for paths of root's: other paths could be changed meanwhile. */
export async function asUserWithView({ uid, gid }: Owner, platform: Platform): Promise<Runner> {
  const plain = asUser({ uid, gid })
  const { unshare } = platform
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
    platform.shortFolder,
    `${uid}`,
    `${gid}`,
  ]
  return (await succeeds(self(platform), unshare, tried)) ? { ...plain, unshare } : plain
}

/** True if this runner can run the program and do `may` ('w': write into, 'x': enter) with the folder. */
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
