/**
 * Writes a backup as a gzip file, complete or not at all, and reads a backup part by part. Translates errors of the file system.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { isRetomaError, type LocalizedText, RetomaError } from '../errors/errors.ts'
import { notWritten, writeAtomically } from '../lib/atomic-file.ts'
import { cutOff, damage, decode, encode, type Part } from './backup-format.ts'

export interface WriteOptions {
  force: boolean
  signal?: AbortSignal
}

/** Call before any slow work. */
export async function refuseTaken(file: string, force: boolean): Promise<void> {
  const there = await stat(file).catch(() => undefined)
  if (there?.isDirectory()) throw notWritten(file, 'EISDIR')
  if (there !== undefined && !force) throw new RetomaError('backup_exists', { file })
}

/** Resolves with the size in bytes. */
export async function writeBackup(
  file: string,
  parts: AsyncIterable<Exclude<Part, { what: 'end' }>>,
  { force, signal }: WriteOptions,
): Promise<number> {
  const gzip = createGzip()
  const plain = Readable.from(encode(parts), { objectMode: false })
  plain.on('error', error => gzip.destroy(error))
  gzip.on('close', () => plain.destroy())
  try {
    return await writeAtomically(file, plain.pipe(gzip), { replace: force, ...(signal ? { signal } : {}) })
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw taken ? new RetomaError('backup_exists', { file }, { cause: error }) : error
  } finally {
    plain.destroy()
    gzip.destroy()
  }
}

/** Yields the parts of a backup. The backup is sound only if the generator reaches its end. */
export async function* readBackup(file: string): AsyncGenerator<Part> {
  const source = createReadStream(file)
  const gunzip = createGunzip()
  source.on('error', error => gunzip.destroy(error))
  let begun = false
  try {
    for await (const part of decode(source.pipe(gunzip), file)) {
      begun = true
      yield part
    }
    // gunzip ignores bytes after the end of its stream.
    if (gunzip.bytesWritten !== source.bytesRead)
      throw damage(file, { en: 'something follows its end', pt: 'há algo depois do fim' })
  } catch (error) {
    throw readTrouble(file, error, begun)
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

function readTrouble(file: string, error: unknown, begun: boolean): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  if (isRetomaError(error)) return error
  if (/^Z_/.test(code)) {
    if (!begun) return new RetomaError('no_backup', { file }, { cause: error })
    const problem: LocalizedText =
      code === 'Z_BUF_ERROR'
        ? cutOff
        : { en: 'its compressed data is broken', pt: 'os dados comprimidos estão corrompidos' }
    return damage(file, problem, { cause: error })
  }
  const problem = readReasons[code]
  return problem === undefined ? error : new RetomaError('backup_not_read', { file, problem }, { cause: error })
}

const readReasons: Readonly<Record<string, LocalizedText>> = {
  ENOENT: { en: 'there is no such file', pt: 'o arquivo não existe' },
  ENOTDIR: { en: 'there is no such file', pt: 'o arquivo não existe' },
  EACCES: { en: 'this user may not read it', pt: 'este usuário não pode lê-lo' },
  EISDIR: { en: 'it is a folder', pt: 'é uma pasta' },
  EIO: { en: 'the disk reports an error', pt: 'o disco relata um erro' },
}
