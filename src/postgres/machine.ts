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
  /** The program that opens a user namespace; only root asks for it. */
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

/** The account made for programs that should own nothing. */
export function nobody(): { uid: number; gid: number } {
  try {
    const [, uid, gid] = /^nobody:[^:]*:(-?\d+):(-?\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
    if (uid && gid) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
  } catch {}
  return { uid: 65534, gid: 65534 }
}

function hasGlibc(): boolean {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }
  return report.header.glibcVersionRuntime !== undefined
}
