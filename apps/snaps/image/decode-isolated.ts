/**
 * Analyses an image in a separate process: the module for `ctx.isolated('image', decodeModule, { path })`. The file imports as little as
 * possible, because each start of the process loads the imports.
 */
import { readFile } from 'node:fs/promises'
import { type Analysed, analyse } from './analyse.ts'

export default async ({ path }: { path: string }): Promise<Analysed> => analyse(await readFile(path))
