/** Resolves true once this process is no longer a child of `parent`; false if the signal aborts first. Does not keep the process alive. */
import { unrefSleep } from '../unref-timer.ts'

const checkEveryMs = 500

export async function whenParentIsGone(parent: number, ignored: AbortSignal): Promise<boolean> {
  while (!ignored.aborted && process.ppid === parent) await unrefSleep(checkEveryMs, ignored)
  return !ignored.aborted
}
