/**
 * Extracts the text of a document: of a PDF in a separate process, of plain text here. An unreadable document is an error that another
 * attempt does not fix, with a sentence for the sender; a document without text is skipped.
 *
 * Invariant: the extraction ends within the time and memory limits for every file, and no file crashes the worker. The text of a PDF is a
 * step ("text") and is not read twice.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { type Duration, isRetomaError, type JobContext, megabytes, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import { type Excerpt, excerptOf, headLength, type Parts, partsOf, tailLength } from './excerpt.ts'
import type { ReadPdf } from './pdf.ts'
import { decode, decodeEnd, type Encoding, lengthIn, markOf, tidy } from './plain.ts'
import { claimsToBePdf, type Ends, endsOf, isPdf, isReadable, isWhole, knownAs, likenessOf } from './sniff.ts'
import { trouble } from './trouble.ts'

/** `path`: the file on this machine. `text`: the document was sent as text. */
export type Source = ({ path: string } | { text: string }) & { name: string; type?: string }

/** `pages`: the number of pages of a PDF. */
export type Extracted = (Excerpt & { pages: number | null }) | { skip: string }

export interface ExtractOptions {
  timeout?: Duration
}

/** An ordinary PDF takes 0.1 s, and 1,000 pages some seconds; a document has two minutes in all. */
const readWithin = seconds(30)
const memory = megabytes(512)

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const reader = new URL(import.meta.url.endsWith('.ts') ? '../dist/extract/read.js' : './read.js', import.meta.url)

export async function extractText(ctx: JobContext, source: Source, options: ExtractOptions = {}): Promise<Extracted> {
  if ('text' in source) return readAs(partsOf(source.text))
  const { path, name, type = '' } = source
  const ends = await endsOf(path)
  if (ends.size === 0) return { skip: 'arquivo vazio' }
  const claimed = claimsToBePdf(name, type)
  if (!isPdf(ends, claimed)) {
    if (claimed) throw trouble(errors.not_a_pdf, { likeness: likenessOf(ends) })
    if (!isReadable(name, type)) return { skip: foreign(ends) }
    return readPlain(path, ends.size)
  }
  if (!isWhole(ends)) throw trouble(errors.pdf_truncated, {})
  return whatCameOf(await readAway(ctx, path, options.timeout ?? readWithin))
}

function foreign(ends: Ends): string {
  const likeness = knownAs(ends)?.pt
  return `tipo de arquivo que não é lido${likeness === undefined ? '' : ` (${likeness})`}: envie PDF ou texto (.pdf, .txt, .md, .csv)`
}

/** The text of a PDF saved by an earlier attempt; the file is not needed again. */
export const readBefore = async (ctx: JobContext): Promise<Extracted> => whatCameOf(await readAway(ctx, '', readWithin))

/** A crash of the child counts against the document, unless a SIGKILL from outside ended the child. */
async function readAway(ctx: JobContext, path: string, timeout: Duration): Promise<ReadPdf> {
  try {
    return await ctx.isolated<ReadPdf>('text', reader, { path }, { timeout, memory, maxBytes: megabytes(2) })
  } catch (error) {
    if (isRetomaError(error, 'isolated_timeout')) throw trouble(errors.pdf_timeout, { seconds: timeout / 1000 }, error)
    if (isRetomaError(error, 'isolated_memory'))
      throw trouble(errors.pdf_memory, { megabytes: memory / megabytes(1) }, error)
    if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
      throw trouble(errors.pdf_crash, { how: error.facts.how! }, error)
    // The document is not the cause: an ordinary failure, with another attempt.
    if (isRetomaError(error, 'isolated_crash') || isRetomaError(error, 'child_not_started')) throw failed(error)
    if (isRetomaError(error, 'isolated_starved')) throw failed(error)
    throw error
  }
}

function whatCameOf(read: ReadPdf): Extracted {
  if ('trouble' in read) {
    if (read.trouble === 'pdf_corrupt') throw trouble(errors.pdf_corrupt, { problem: read.problem })
    throw trouble(errors[read.trouble], {})
  }
  const { pages } = read
  if (hasText(read)) return { ...excerptOf(read), pages }
  return {
    skip: `PDF sem texto em ${pages === 1 ? '1 página' : `${pages.toLocaleString('pt-BR')} páginas`}, provavelmente digitalizado`,
  }
}

const hasText = ({ head, tail }: Parts): boolean => head.trim() !== '' || (tail ?? '').trim() !== ''

/** A file up to this size is read whole; of a larger file only the two ends are read, and the characters between are counted. */
const mostWhole = 1024 * 1024
/** The largest number of bytes for the number of characters. */
const headBytes = headLength * 4
const tailBytes = tailLength * 4

async function readPlain(path: string, size: number): Promise<Extracted> {
  const file = await open(path)
  try {
    const bytes = await readPart(file, 0, size <= mostWhole ? size : headBytes)
    const decoded = decode(bytes, size > bytes.length)
    if ('binary' in decoded) throw trouble(errors.text_binary, {})
    const text = tidy(decoded.text)
    return readAs(size > bytes.length ? await endsOfFile(file, size, bytes, { ...decoded, text }) : partsOf(text))
  } finally {
    await file.close()
  }
}

/** `first`: the first bytes of the file; `text`: the text of `first`. */
async function endsOfFile(
  file: FileHandle,
  size: number,
  first: Uint8Array,
  { text, encoding }: { text: string; encoding: Encoding },
): Promise<Parts> {
  // Keeps pairs of bytes together for UTF-16: an odd byte at the end is no character.
  const from = size - tailBytes - (size % 2)
  const head = text.slice(0, headLength)
  const tail = tidy(decodeEnd(await readPart(file, from, size - from), encoding)).slice(-tailLength)
  let length = lengthIn(first, encoding) - (markOf(first) === undefined ? 0 : 1)
  for (let at = first.length; at < size; at += mostWhole)
    length += lengthIn(await readPart(file, at, Math.min(mostWhole, size - at)), encoding)
  return { head, tail, omitted: Math.max(Math.floor(length) - head.length - tail.length, 0) }
}

async function readPart(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
  return buffer.subarray(0, bytesRead)
}

const readAs = (parts: Parts): Extracted =>
  hasText(parts) ? { ...excerptOf(parts), pages: null } : { skip: 'documento sem texto' }
