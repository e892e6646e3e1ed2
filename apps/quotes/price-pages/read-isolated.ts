/**
 * Reads a price in a separate process: the module for `ctx.isolated(name, priceModule, { page, contentType, finalUrl })`. The file imports
 * as little as possible, because each start of the process loads the imports.
 */
import { type PageBytes, type ReadPrice, readPrice } from './read-price.ts'

export default (input: PageBytes): ReadPrice => readPrice(input)
