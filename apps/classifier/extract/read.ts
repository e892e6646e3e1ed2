/**
 * Runs in a process of its own (`ctx.isolated`), so it imports as little as it can: each start of that process loads it. What is
 * wrong with a document is an answer; an error is what is wrong here.
 */
import { readFile } from 'node:fs/promises'
import { type ReadPdf, readPdf } from './pdf.ts'
import { tidy } from './plain.ts'

// A document names addresses; nothing here has one to ask.
globalThis.fetch = () => Promise.reject(new Error('a document asks nobody'))

export default async ({ path }: { path: string }): Promise<ReadPdf> => {
  const read = await readPdf(new Uint8Array(await readFile(path)))
  return 'trouble' in read
    ? read
    : { ...read, head: tidy(read.head), tail: read.tail === null ? null : tidy(read.tail) }
}
