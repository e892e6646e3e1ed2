/**
 * Reads a PDF in a separate process (`ctx.isolated`). The file imports as little as possible, because each start of the process loads the
 * imports. A problem of a document is a result; a thrown error is a problem of this code.
 */
import { readFile } from 'node:fs/promises'
import { type ReadPdf, readPdf } from './read-pdf.ts'

// A document may contain addresses; the reader must contact none.
globalThis.fetch = () => Promise.reject(new Error('a document asks nobody'))

export default async ({ path }: { path: string }): Promise<ReadPdf> => readPdf(new Uint8Array(await readFile(path)))
