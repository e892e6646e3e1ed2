/**
 * Collects the facts about this computer that decide how PostgreSQL is found and run. find, home and privilege read the facts here and
 * never from `process`; a test describes another computer by overriding a fact.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

export interface Platform {
  platform: string
  arch: string
  /** False on a Linux with another C library (Alpine): the binaries do not load there. */
  glibc: boolean
  uid: number
  gid: number
  /** The program to open a mount namespace; only root uses the program. */
  unshare: string
  /** The folder in which root puts files for an unprivileged user. */
  systemFolder: string
  /** The folder for sockets with a path too long below the data folder. Fixed, because TMPDIR differs between processes. */
  shortFolder: string
  /** The folder of an installed package; throws if the package is missing. */
  packageFolder(name: string): string
}

export function thisPlatform(): Platform {
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

/** The account for programs that should own no files. */
export const nobody = (): Account => accountOf('nobody') ?? { uid: 65534, gid: 65534 }

/**
 * The account for the server in a path of root's. Other programs share the account nobody; to avoid sharing, an administrator creates the
 * account `retoma`.
 */
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
