/**
 * Watches a child process from a separate thread, started before any handler. The thread ends the process if the parent is gone, if the
 * parent was stopped for so long that its jobs may be recovered elsewhere, or if the process exceeds its memory limit. A handler that
 * blocks the loop cannot prevent this.
 *
 * The watch does not rely on messages of the parent: the parent's loop may be blocked by another job, which is no fault of this job.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../lib/clock.ts'
import type { Nature } from '../child-protocol.ts'
import { writeLastWords } from './channel.ts'

const checkEveryMs = 500
/** Memory grows by about 1 GB per second at most. */
const weighEveryMs = 50
/** The smallest change of memory that is reported. */
const stepBytes = 16 * 1024 * 1024

const { nature, parent } = workerData as { nature: Nature; parent: number }

parentPort!.postMessage('up')
void watch()
if (nature.memoryBytes !== null) void weigh(nature.memoryBytes)

async function watch(): Promise<never> {
  let stoppedSince: number | undefined
  let reported = 0
  for (;;) {
    if (process.ppid !== parent) end()
    if (!isStopped()) stoppedSince = undefined
    else stoppedSince ??= systemClock.elapsed()
    if (stoppedSince !== undefined && systemClock.elapsed() - stoppedSince >= nature.parentStoppedMs) {
      writeLastWords({ how: 'parent' })
      end()
    }
    const bytes = process.memoryUsage.rss()
    if (Math.abs(bytes - reported) >= stepBytes) {
      reported = bytes
      writeLastWords({ how: 'memory', bytes, over: false })
    }
    await systemClock.sleep(checkEveryMs)
  }
}

async function weigh(most: number): Promise<never> {
  for (;;) {
    const bytes = process.memoryUsage.rss()
    if (bytes > most) {
      writeLastWords({ how: 'memory', bytes, over: true })
      end()
    }
    await systemClock.sleep(weighEveryMs)
  }
}

/** True if the parent is stopped by SIGSTOP, a debugger or a frozen terminal. */
function isStopped(): boolean {
  try {
    const state =
      process.platform === 'linux'
        ? /\)\s+(\S)[^)]*$/.exec(readFileSync(`/proc/${parent}/stat`, 'latin1'))?.[1]
        : execFileSync('ps', ['-o', 'state=', '-p', `${parent}`], { encoding: 'latin1' }).trim()[0]
    return state === 'T' || state === 't'
  } catch {
    // The parent is gone, or not visible: the check of `ppid` decides.
    return false
  }
}

/** Kills this process and all processes of its group. */
function end(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
