/** Resolves true once this process is no longer a child of that one; false when the signal aborts before. Keeps nobody alive. */
import { idle } from './idle.ts'

const lookEveryMs = 500

export async function whenParentIsGone(parent: number, ignored: AbortSignal): Promise<boolean> {
  while (!ignored.aborted && process.ppid === parent) await idle(lookEveryMs, ignored)
  return !ignored.aborted
}
