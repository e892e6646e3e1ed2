/** Describes a file in PostgreSQL, stored in pieces, and checks the options of a new file. */
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'

/** A stored file, without its bytes. */
export interface FileView {
  id: string
  name: string
  type: string
  /** In bytes. */
  size: number
  /** Hexadecimal. */
  sha256: string
  createdAt: Date
}

/** A stored file with its bytes. */
export interface OpenFile extends FileView {
  /** Bytes, piece by piece; each piece is read on demand. */
  bytes: AsyncIterable<Uint8Array>
  /** The bytes from `from` to `to`, both included; other pieces are not read. Default: the file is read as a whole only. */
  part?(from: number, to: number): AsyncIterable<Uint8Array>
}

/** `piece` returns the n-th piece, and throws if the file was erased in the meantime. */
export const opened = (file: FileView, piece: (n: number) => Promise<Uint8Array>): OpenFile => ({
  ...file,
  bytes: {
    async *[Symbol.asyncIterator]() {
      for (let n = 0; n * pieceBytes < file.size; n++) yield await piece(n)
    },
  },
  async *part(from, to) {
    for (let n = Math.floor(from / pieceBytes); n * pieceBytes <= Math.min(to, file.size - 1); n++) {
      const start = n * pieceBytes
      yield (await piece(n)).subarray(Math.max(from - start, 0), to + 1 - start)
    }
  },
})

/** Options of `engine.files.put`. */
export interface FileOptions {
  /** Name for people, without a path. */
  name: string
  /** For example application/pdf. */
  type: string
  /** Largest size in bytes; a larger file fails with `file_too_large`. Default: no limit. */
  most?: number
  /** The job that owns the file from its first byte on: erasing the job removes the file. Default: no owner until `keep`. */
  job?: string
}

/** Size of a piece in bytes; at most two pieces are in memory at the same time. */
export const pieceBytes = 1024 * 1024

const longestName = 255
const longestType = 127

export function checkFileOptions(given: FileOptions): {
  name: string
  type: string
  most: number
  job: string | null
} {
  refuseUnknownOptions(given, ['name', 'type', 'most', 'job'])
  const { name, type, most = Number.POSITIVE_INFINITY, job = null } = given
  if (!isFileName(name))
    refuseOption(
      'name',
      `it has 1 to ${longestName} characters, and none that steers a terminal`,
      `tem de 1 a ${longestName} caracteres, e nenhum de controle`,
    )
  if (!isFileType(type)) refuseOption('type', 'it is a type such as application/pdf', 'é um tipo, como application/pdf')
  if (!(most >= 0)) refuseOption('most', 'it is a number of bytes', 'é um número de bytes')
  return { name, type, most, job }
}

export const isFileType = (type: unknown): type is string =>
  typeof type === 'string' && type.length <= longestType && /^[\w.+!#$&^-]+\/[\w.+!#$&^-]+$/.test(type)

const isFileName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= longestName && cleanFileName(name) === name

/** Control characters, line breaks and characters that change the direction of text. */
const unwelcome = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Returns a foreign file name in a form to store and show: no path, no hidden characters. May be empty. */
export function cleanFileName(given: string): string {
  const last = given.toWellFormed().replace(unwelcome, '').split(/[/\\]/).at(-1)!.trim()
  const name = last === '.' || last === '..' ? '' : last.normalize('NFC')
  if (name.length <= longestName) return name
  // Keep the extension, because the extension names the type.
  const ending = /\.\w{1,10}$/.exec(name)?.[0] ?? ''
  return (
    name
      .slice(0, longestName - ending.length)
      .toWellFormed()
      .replace(/\uFFFD$/, '')
      .trim() + ending
  )
}
