/**
 * Reads a PDF within bounds of time and memory, in a process that the engine kills. A problem of the PDF is an answer, with the reason for
 * the person who sent the PDF; a problem of this machine is a thrown error, and another attempt may help.
 *
 * Invariant: every file ends with an answer or an error within the time limit, and no file crashes the worker. The answer is a step
 * ("text"), so that a PDF that was read is not read again after a crash.
 */
import { type Duration, isRetomaError, type JobContext, megabytes, RetomaError, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { cleanText, oneLine } from '../text.ts'
import type { ReadPdf } from './read-pdf.ts'
import { isWhole } from './sniff.ts'

interface PdfContent {
  pages: number
  title: string
  text: string
  isComplete: boolean
}

/** Reads a PDF; `name` is the name of the file. */
export type PdfReader = (ctx: JobContext, path: string, name: string) => Promise<PdfContent | { trouble: RetomaError }>

/** An ordinary PDF takes 0.1 s, and 1,000 pages some seconds. */
const readWithin = seconds(60)
const memory = megabytes(512)
/** A PDF computes for seconds; requests to a server on the same machine come first. */
const nice = 10
/** 1,000,000 characters are at most 3 MB, and more as JSON. */
const largest = megabytes(8)

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const module = new URL(import.meta.url.endsWith('.ts') ? '../dist/pdf/read.js' : './read.js', import.meta.url)

export const pdfReader =
  (within: Duration = readWithin): PdfReader =>
  async (ctx, path, name) => {
    if (!(await isWhole(path))) return { trouble: new RetomaError(errors.document_truncated, {}) }
    try {
      return contentOf(
        await ctx.isolated<ReadPdf>('text', module, { path }, { timeout: within, memory, maxBytes: largest, nice }),
        name,
      )
    } catch (error) {
      const trouble = troubleOf(error, within)
      if (trouble === undefined) throw error
      return { trouble }
    }
  }

function contentOf(read: ReadPdf, name: string): PdfContent | { trouble: RetomaError } {
  if ('trouble' in read) {
    if (read.trouble === 'document_damaged')
      return { trouble: new RetomaError(errors.document_damaged, { problem: read.problem }) }
    return { trouble: new RetomaError(errors[read.trouble], {}) }
  }
  const text = cleanText(read.text)
  return { pages: read.pages, text, isComplete: read.isComplete, title: titleOf(read.title, text, name) }
}

const longestTitle = 200

/** The title in the properties of the PDF, or the first line of its text, or the name of the file. */
function titleOf(given: string, text: string, name: string): string {
  const first = text
    .slice(0, 5000)
    .split('\n')
    .map(oneLine)
    .find(line => /\p{L}/u.test(line))
  const title = oneLine(given) || first || name.replace(/\.pdf$/i, '')
  return Array.from(title).slice(0, longestTitle).join('')
}

/** undefined: not a problem of the PDF. A crash of the child counts against the PDF, unless a SIGKILL from outside ended the child. */
function troubleOf(error: unknown, within: Duration): RetomaError | undefined {
  if (isRetomaError(error, 'isolated_timeout'))
    return new RetomaError(errors.document_timeout, { seconds: within / 1000 }, { cause: error })
  if (isRetomaError(error, 'isolated_memory'))
    return new RetomaError(errors.document_memory, { megabytes: memory / megabytes(1) }, { cause: error })
  if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
    return new RetomaError(errors.document_crash, { how: error.facts.how! }, { cause: error })
  return undefined
}
