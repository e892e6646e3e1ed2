/**
 * A file that is there whole or not at all: written beside its place under another name, flushed, and only then given its
 * own. A process that is killed leaves at most `NAME.….partial`, which nobody takes for the real one.
 */
import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RetomaError, type Saying } from '../errors.ts'
import { randomName } from './random.ts'

export interface WholeFileOptions {
  /** Take the place of a file that is there. Otherwise that is an error with the code EEXIST, at the end as well. */
  replace: boolean
  signal?: AbortSignal
}

/** Readable for its owner only. Resolves with its size once it would survive a power cut. Throws file_not_written. */
export async function writeWhole(file: string, content: Readable, options: WholeFileOptions): Promise<number> {
  try {
    return await write(file, content, options)
  } catch (error) {
    // By the codes that only a disk has: a socket that the content is read from has a call `write` as well.
    const { code = '', syscall } = error as NodeJS.ErrnoException
    throw syscall !== undefined && code in reasons ? notWritten(file, code, error) : error
  }
}

export function notWritten(file: string, code: string, cause?: unknown): RetomaError {
  return new RetomaError('file_not_written', { file, problem: reasons[code] ?? { en: code, pt: code } }, { cause })
}

const reasons: Readonly<Record<string, Saying>> = {
  ENOSPC: { en: 'the disk is full', pt: 'o disco está cheio' },
  EDQUOT: { en: 'the disk quota is used up', pt: 'a cota de disco acabou' },
  EFBIG: { en: 'a file may not be so large here', pt: 'um arquivo não pode ser tão grande aqui' },
  ENOENT: { en: 'its folder does not exist', pt: 'a pasta não existe' },
  ENOTDIR: { en: 'its folder does not exist', pt: 'a pasta não existe' },
  EACCES: { en: 'this user may not write there', pt: 'este usuário não pode escrever ali' },
  EPERM: { en: 'this user may not write there', pt: 'este usuário não pode escrever ali' },
  EROFS: { en: 'the disk is read-only', pt: 'o disco é somente leitura' },
  EISDIR: { en: 'it is a folder', pt: 'é uma pasta' },
  ENAMETOOLONG: { en: 'its name is too long', pt: 'o nome é longo demais' },
  EIO: { en: 'the disk reports an error', pt: 'o disco relata um erro' },
}

async function write(file: string, content: Readable, options: WholeFileOptions): Promise<number> {
  const partial = `${file}.${randomName('', 6).slice(1)}.partial`
  const stream = (await open(partial, 'wx', 0o600)).createWriteStream({ flush: true })
  try {
    await pipeline(content, stream, options.signal ? { signal: options.signal } : {})
    if (options.replace) await rename(partial, file)
    else await takeFree(partial, file)
    await flushFolder(dirname(file))
    return stream.bytesWritten
  } finally {
    await unlink(partial).catch(() => {})
  }
}

/** A link, unlike a rename, fails when the name is taken; some file systems know no links. */
async function takeFree(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code)) throw error
    await rename(partial, file)
  }
}

async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
