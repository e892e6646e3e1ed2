/** First pages as pictures, and the ends of files that have no first page. */
import { expect, test } from 'vitest'
import { documentOf, goodPdf, streamOf, writePdf } from '../classifier/test/pdfs.ts'
import { drawPage } from './draw-page.ts'

const webpSize = (webp: Uint8Array) =>
  Buffer.from(webp)
    .subarray(0, 12)
    .toString('latin1')
    .replace(/....(?=WEBP)/s, '…')

test('the first page is drawn once for each size, with its text and in its proportions', async () => {
  const empty = await drawPage(new Uint8Array(goodPdf('')), [256, 1024])
  const page = await drawPage(new Uint8Array(goodPdf(['Escala de março\n'.repeat(40), 'página 2'])), [256, 1024])
  if ('trouble' in page || 'trouble' in empty) throw new Error('trouble')
  expect(page.pages).toBe(2)
  expect(page.images.map(({ width, height }) => [width, height])).toEqual([
    [181, 256],
    [724, 1024],
  ])
  for (const { webp } of page.images) expect(webpSize(webp)).toBe('RIFF…WEBP')
  // Letters take more bytes than white.
  expect(page.images[1]!.webp.length).toBeGreaterThan(4 * empty.images[1]!.webp.length)
})

test('a file without a first page ends with its trouble', async () => {
  const trouble = async (bytes: Buffer) => {
    const page = await drawPage(new Uint8Array(bytes), [64])
    return 'trouble' in page ? page.trouble : null
  }
  const objects = documentOf([streamOf('x')])
  const key = `<${'ab'.repeat(32)}>`
  const locked = writePdf([...objects, `<< /Filter /Standard /V 1 /R 2 /P -44 /O ${key} /U ${key} >>`], {
    trailer: `/Encrypt ${objects.length + 1} 0 R /ID [<00> <00>]`,
  })
  expect(await trouble(locked)).toBe('pdf_encrypted')
  expect(await trouble(Buffer.from('%PDF-1.7\nnothing\n%%EOF'))).toBe('pdf_corrupt')
  const none = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>']
  expect(['pdf_without_pages', 'pdf_corrupt']).toContain(await trouble(writePdf(none)))
})

test('a page of nine billion points is drawn within the size', async () => {
  const giant = Buffer.from(goodPdf('x').toString('latin1').replace('[0 0 595 842]', '[0 0 9e9 9e9]'), 'latin1')
  const page = await drawPage(new Uint8Array(giant), [64])
  if ('trouble' in page) expect(page.trouble).toBe('pdf_corrupt')
  else expect(Math.max(page.images[0]!.width, page.images[0]!.height)).toBeLessThanOrEqual(64)
})
