/** Reads two facts about a path, for embedded-postgres/data-dir.ts and run-as-root.ts: the owner, and a short name for the path. */
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'

export interface Owner {
  uid: number
  gid: number
}

/** undefined if the path does not exist. */
export async function ownerOf(path: string): Promise<Owner | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function shortHash(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}
