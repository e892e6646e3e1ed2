/**
 * The text of a document, whatever it is: a PDF in a process of its own, plain text here. What cannot be read is an error that trying
 * again does not mend, with a sentence for the person who sent it; what has no text is a reason to skip it.
 *
 * Invariant: it ends within its time and memory, whatever the file holds, and no file takes the worker along. A PDF's text is a
 * step ("text") and is not read twice.
 */
import { open } from 'node:fs/promises'
import { type Duration, isRetomaError, type JobContext, megabytes, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import type { ReadPdf } from './pdf.ts'
import { decode, mostText, tidy } from './plain.ts'
import { claimsToBePdf, type Ends, endsOf, isPdf, isReadable, isWhole, knownAs, likenessOf } from './sniff.ts'
import { trouble } from './trouble.ts'

/** `path`: where its bytes are, on this machine. `text`: it was sent as text. */
export type Source = ({ path: string } | { text: string }) & { name: string; type?: string }

/** `pages`: of a PDF. `truncated`: not all of it was read, or kept. */
export type Extracted = { text: string; pages: number | null; truncated: boolean } | { skip: string }

export interface ExtractOptions {
  timeout?: Duration
}

/** An ordinary PDF takes a tenth of a second, and a thousand pages some seconds; a document has two minutes in all. */
const readWithin = seconds(30)
const memory = megabytes(512)

// From its sources it is run by tests alone, and Node 20 cannot read them: its child is what was built from them.
const reader = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/apps/classifier/extract/read.js' : './read.js',
  import.meta.url,
)

export async function extractText(ctx: JobContext, source: Source, options: ExtractOptions = {}): Promise<Extracted> {
  if ('text' in source) return bounded(source.text, false)
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

/** The text of a PDF that an earlier attempt has read: it is kept, and its file is not needed again. */
export const readBefore = async (ctx: JobContext): Promise<Extracted> => whatCameOf(await readAway(ctx, '', readWithin))

/** What its process died of is known to be the document's doing, unless something outside killed it. */
async function readAway(ctx: JobContext, path: string, timeout: Duration): Promise<ReadPdf> {
  try {
    return await ctx.isolated<ReadPdf>('text', reader, { path }, { timeout, memory, maxBytes: megabytes(2) })
  } catch (error) {
    if (isRetomaError(error, 'isolated_timeout')) throw trouble(errors.pdf_timeout, { seconds: timeout / 1000 }, error)
    if (isRetomaError(error, 'isolated_memory'))
      throw trouble(errors.pdf_memory, { megabytes: memory / megabytes(1) }, error)
    if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
      throw trouble(errors.pdf_crash, { how: error.facts.how! }, error)
    // Nothing of the document's doing: an ordinary failure, which is tried again.
    if (isRetomaError(error, 'isolated_crash') || isRetomaError(error, 'child_not_started')) throw failed(error)
    throw error
  }
}

function whatCameOf(read: ReadPdf): Extracted {
  if ('trouble' in read) {
    if (read.trouble === 'pdf_corrupt') throw trouble(errors.pdf_corrupt, { problem: read.problem })
    throw trouble(errors[read.trouble], {})
  }
  const { text, pages, whole } = read
  if (text.trim() !== '') return { text, pages, truncated: !whole }
  return { skip: `PDF sem texto em ${pages === 1 ? '1 página' : `${pages} páginas`}, provavelmente digitalizado` }
}

/** As many bytes as so many characters can have. */
const mostPlain = mostText * 4

async function readPlain(path: string, size: number): Promise<Extracted> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, mostPlain)), 0)
    const decoded = decode(buffer.subarray(0, bytesRead), size > bytesRead)
    if ('binary' in decoded) throw trouble(errors.text_binary, {})
    return bounded(tidy(decoded.text), size > bytesRead)
  } finally {
    await file.close()
  }
}

function bounded(text: string, cut: boolean): Extracted {
  if (text.trim() === '') return { skip: 'documento sem texto' }
  const truncated = cut || text.length > mostText
  return { text: truncated ? text.slice(0, mostText).toWellFormed() : text, pages: null, truncated }
}
