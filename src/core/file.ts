/** A file as it is kept in PostgreSQL, in pieces, and what may be said of one that comes in. */
import { refuseOption, refuseUnknownOptions } from './refuse.ts'

export interface FileView {
  id: string
  name: string
  type: string
  /** Bytes. */
  size: number
  /** In hex. */
  sha256: string
  createdAt: Date
}

export interface OpenFile extends FileView {
  /** Its bytes, a piece at a time; each piece is read when it is asked for. */
  bytes: AsyncIterable<Uint8Array>
}

/** `piece` answers the n-th, and throws when the file was erased meanwhile. */
export const opened = (file: FileView, piece: (n: number) => Promise<Uint8Array>): OpenFile => ({
  ...file,
  bytes: {
    async *[Symbol.asyncIterator]() {
      for (let n = 0; n * pieceBytes < file.size; n++) yield await piece(n)
    },
  },
})

export interface FileOptions {
  /** As people call it, without a path. */
  name: string
  /** Such as application/pdf. */
  type: string
  /** Bytes: one that is larger is refused with file_too_large. */
  most?: number
}

/** Of a file, in bytes: at most two are in memory at a time. */
export const pieceBytes = 1024 * 1024

const longestName = 255
const longestType = 127

export function checkFileOptions(given: FileOptions): { name: string; type: string; most: number } {
  refuseUnknownOptions(given, ['name', 'type', 'most'])
  const { name, type, most = Number.POSITIVE_INFINITY } = given
  if (!isFileName(name))
    refuseOption(
      'name',
      `it has 1 to ${longestName} characters, and none that steers a terminal`,
      `tem de 1 a ${longestName} caracteres, e nenhum de controle`,
    )
  if (!isFileType(type)) refuseOption('type', 'it is a type such as application/pdf', 'é um tipo, como application/pdf')
  if (!(most >= 0)) refuseOption('most', 'it is a number of bytes', 'é um número de bytes')
  return { name, type, most }
}

export const isFileType = (type: unknown): type is string =>
  typeof type === 'string' && type.length <= longestType && /^[\w.+!#$&^-]+\/[\w.+!#$&^-]+$/.test(type)

const isFileName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= longestName && cleanFileName(name) === name

/** Steers a terminal, breaks a line or turns text around. */
const unwelcome = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The name that somebody else gave a file, as it may be kept and shown: no path, nothing hidden. May be empty. */
export function cleanFileName(given: string): string {
  const last = given.toWellFormed().replace(unwelcome, '').split(/[/\\]/).at(-1)!.trim()
  const name = last === '.' || last === '..' ? '' : last.normalize('NFC')
  if (name.length <= longestName) return name
  // What comes last says what it is.
  const ending = /\.\w{1,10}$/.exec(name)?.[0] ?? ''
  return (
    name
      .slice(0, longestName - ending.length)
      .toWellFormed()
      .replace(/\uFFFD$/, '')
      .trim() + ending
  )
}
