/** Creates a folder and the folders above. Not with Node's `recursive`, which never returns below /proc. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Returns the folder if this call created the folder, undefined for an existing folder. */
export async function makeFolder(path: string, mode: number): Promise<string | undefined> {
  const code = await tryMake(path, mode)
  if (code === 'EEXIST') return undefined
  if (code === undefined) return path
  await makeFolder(dirname(path), mode)
  await mkdir(path, { mode })
  return path
}

/** Returns the error's code if creating the parent folder may help; any other error is thrown. */
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
