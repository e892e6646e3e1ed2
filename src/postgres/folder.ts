/** Makes a folder and those above it. Not Node's own `recursive`: below /proc that never returns. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Answers the folder when it was made, undefined when it was there. */
export async function makeFolder(path: string, mode: number): Promise<string | undefined> {
  const code = await tryMake(path, mode)
  if (code === 'EEXIST') return undefined
  if (code === undefined) return path
  await makeFolder(dirname(path), mode)
  await mkdir(path, { mode })
  return path
}

/** The error's code where going up one folder may help; any other error is thrown. */
async function tryMake(path: string, mode: number): Promise<'EEXIST' | 'ENOENT' | undefined> {
  try {
    await mkdir(path, { mode })
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || (code === 'ENOENT' && dirname(path) !== path)) return code
    throw error
  }
}
