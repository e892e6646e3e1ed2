/** The pages of a TIFF that OCR recognises; the recogniser of the test answers the size of the picture. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createOcr, type OcrInput, type OcrRead } from '../extract/ocr.ts'
import { tiffOf } from './tiffs.ts'

const ocr = createOcr(async () => () => async ({ width, height }) => ({
  text: `${width} x ${height}`,
  confidence: 1,
}))

async function read(bytes: Buffer, more: Partial<OcrInput> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-tiff-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'a.tif'), bytes)
  return ocr({ path: join(folder, 'a.tif'), scans: null, most: 10, ...more })
}

const page = { width: 2000, height: 1000 }
const damaged = { ...page, isDamaged: true }

test('a damaged page of a TIFF is left, and the other pages are read, each in its own size', async () => {
  const tiff = tiffOf([page, damaged, { width: 100, height: 50 }])
  expect(await read(tiff)).toMatchObject({
    pages: [
      { page: 1, text: '2000 x 1000' },
      { page: 3, text: '200 x 100' },
    ],
    left: [2],
    tiff: { pages: 3, chosen: null },
  })
  expect(await read(tiffOf([damaged, damaged]))).toMatchObject({ trouble: 'image_unreadable' })
})

test('of a TIFF with a choice of pages only the chosen pages are read', async () => {
  const tiff = tiffOf([page, page, page, page])
  const chosen = await read(tiff, { pages: '2,-1' })
  expect(chosen).toMatchObject({ pages: [{ page: 2 }, { page: 4 }], left: [], tiff: { pages: 4, chosen: [2, 4] } })
  expect(await read(tiff, { pages: '9' })).toEqual({ noPageOf: 4 })
  // A picture with one page has no pages to choose from.
  expect(await read(tiffOf([page]), { pages: '9' })).toMatchObject({ pages: [{ page: 1 }] })
})

test('of a TIFF with thousands of pages only the allowed number is recognised', async () => {
  const many = (await read(tiffOf(Array.from({ length: 3000 }, () => page)), { most: 2 })) as Extract<
    OcrRead,
    { pages: unknown }
  >
  expect(many.pages).toHaveLength(2)
  expect(many.left).toHaveLength(2998)
})
