/**
 * Reads a file in a separate process: the module for `ctx.isolated('text', …)`. The file imports as little as possible, because each start of
 * the process loads the imports.
 */
import { type ReadFile, type ReadInput, readFileAs } from './read-file.ts'

// A document may contain addresses; the reader must contact none.
globalThis.fetch = () => Promise.reject(new Error('a document asks nobody'))

export default (input: ReadInput): Promise<ReadFile> => readFileAs(input)
