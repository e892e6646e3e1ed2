/**
 * The facts about this computer that decide how PostgreSQL is found and run. Read by find, home and privilege, which
 * never look at `process` themselves; a test describes another computer by overriding a fact.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

export interface Machine {
  platform: string
  arch: string
  /** False on a Linux with another C library (Alpine): the binaries do not load there. */
  glibc: boolean
  uid: number
  gid: number
  /** The program that opens a mount namespace; only root asks for it. */
  unshare: string
  /** Where root keeps what an unprivileged user must reach. */
  systemFolder: string
  /** For sockets whose place below the data folder would be too long. Fixed, because TMPDIR differs between processes. */
  shortFolder: string
  /** The folder of an installed package; throws when there is none. */
  packageFolder(name: string): string
}

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    arch: process.arch,
    glibc: process.platform !== 'linux' || hasGlibc(),
    uid: process.geteuid?.() ?? -1,
    gid: process.getegid?.() ?? -1,
    unshare: 'unshare',
    systemFolder: '/var/lib/retoma',
    shortFolder: '/tmp',
    packageFolder: name => dirname(dirname(createRequire(import.meta.url).resolve(name))),
  }
}

interface Account {
  uid: number
  gid: number
}

/** The account made for programs that should own nothing. */
export const nobody = (): Account => accountOf('nobody') ?? { uid: 65534, gid: 65534 }

/** Who runs the server on root's own ground. Nobody is shared with other programs: whoever minds makes an account `retoma`. */
export function serverAccount(): Account {
  const own = accountOf('retoma')
  return own !== undefined && own.uid !== 0 ? own : nobody()
}

function accountOf(name: 'retoma' | 'nobody'): Account | undefined {
  try {
    const line = new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, 'm')
    const [, uid, gid] = line.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
    return uid && gid ? { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 } : undefined
  } catch {
    return undefined
  }
}

function hasGlibc(): boolean {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }
  return report.header.glibcVersionRuntime !== undefined
}
