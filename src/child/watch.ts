/**
 * A thread of its own in each process that is a child, up before any handler is: it ends the process when the parent is
 * gone, when the parent has been stopped for so long that its jobs may be given away, and when the process takes more memory
 * than it may. A handler that never gives the loop back cannot keep it from that.
 *
 * Not told by messages of the parent's: its loop may be busy with another job, and this one is innocent of that.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Nature } from '../isolation/wire.ts'
import { systemClock } from '../lib/clock.ts'
import { writeWords } from './line.ts'

const lookEveryMs = 500
/** Memory grows by about a gigabyte a second at most. */
const weighEveryMs = 50
/** What is worth telling. */
const stepBytes = 16 * 1024 * 1024

const { nature, parent } = workerData as { nature: Nature; parent: number }

parentPort!.postMessage('up')
void look()
if (nature.memoryBytes !== null) void weigh(nature.memoryBytes)

async function look(): Promise<never> {
  let stoppedSince: number | undefined
  let told = 0
  for (;;) {
    if (process.ppid !== parent) end()
    if (!isStopped()) stoppedSince = undefined
    else stoppedSince ??= systemClock.elapsed()
    if (stoppedSince !== undefined && systemClock.elapsed() - stoppedSince >= nature.parentStoppedMs) {
      writeWords({ how: 'parent' })
      end()
    }
    const bytes = process.memoryUsage.rss()
    if (Math.abs(bytes - told) >= stepBytes) {
      told = bytes
      writeWords({ how: 'memory', bytes, over: false })
    }
    await systemClock.sleep(lookEveryMs)
  }
}

async function weigh(most: number): Promise<never> {
  for (;;) {
    const bytes = process.memoryUsage.rss()
    if (bytes > most) {
      writeWords({ how: 'memory', bytes, over: true })
      end()
    }
    await systemClock.sleep(weighEveryMs)
  }
}

/** By SIGSTOP, a debugger or a frozen terminal. */
function isStopped(): boolean {
  try {
    const state =
      process.platform === 'linux'
        ? /\)\s+(\S)[^)]*$/.exec(readFileSync(`/proc/${parent}/stat`, 'latin1'))?.[1]
        : execFileSync('ps', ['-o', 'state=', '-p', `${parent}`], { encoding: 'latin1' }).trim()[0]
    return state === 'T' || state === 't'
  } catch {
    // Gone, or not to be seen: ppid tells.
    return false
  }
}

/** With whatever it has started. */
function end(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
