/** Reads scans in a separate process: the module for `ctx.isolated('ocr', …, { background: true })`. */
import sharp from 'sharp'
import { createOcr } from './ocr.ts'

// A document may contain addresses; the reader must contact none.
globalThis.fetch = () => Promise.reject(new Error('a document asks nobody'))

// Only the decoders of scans and photos run, one image at a time and without a cache.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Tiff'].map(format => `VipsForeignLoad${format}`) })
sharp.concurrency(1)
sharp.cache(false)

export default createOcr()
