/**
 * Writes a file whole or not at all: the content goes to a file beside the target, is flushed, and only then gets the target's name. A
 * killed process leaves at most `NAME.….partial`, which no reader takes for the real file.
 */
import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type LocalizedText, RetomaError } from '../errors/errors.ts'
import { randomName } from './random.ts'

export interface AtomicFileOptions {
  /** Replace an existing file. Otherwise an existing file is an error with the code EEXIST, also at the end of the write. */
  replace: boolean
  signal?: AbortSignal
}

/** Creates a file readable for the owner only. Resolves with the size once the file would survive a power cut. Throws file_not_written. */
export async function writeAtomically(file: string, content: Readable, options: AtomicFileOptions): Promise<number> {
  try {
    return await write(file, content, options)
  } catch (error) {
    // Only codes of a disk count: a socket as the source of the content has a system call `write` as well.
    const { code = '', syscall } = error as NodeJS.ErrnoException
    throw syscall !== undefined && code in reasons ? notWritten(file, code, error) : error
  }
}

export function notWritten(file: string, code: string, cause?: unknown): RetomaError {
  return new RetomaError('file_not_written', { file, problem: reasons[code] ?? { en: code, pt: code } }, { cause })
}

const reasons: Readonly<Record<string, LocalizedText>> = {
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

async function write(file: string, content: Readable, options: AtomicFileOptions): Promise<number> {
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

/** A link fails if the name is taken; a rename does not. Some file systems have no links. */
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
