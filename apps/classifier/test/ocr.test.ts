/**
 * Scanned pages and images read by OCR, in a background process. With 200 pages, and beside another execution: `npm run prove -- --only ocr`.
 */
import { expect, test } from 'vitest'
import { linesOf, scannedPdf, scanOf, wordsRight } from '../../pdf-page/test/scans.ts'
import { classifier } from './executions.ts'
import { goodPdf } from './pdfs.ts'

test('a scanned page and an image that lies on its head are read by OCR and marked; a page with text, and a project without OCR, cost nothing', async () => {
  const { server, engine, execute, run, seen, sql } = await classifier()
  const lines = ['D-1 contrato de locação residencial', ...linesOf(1, 1)]
  const scan = scanOf(lines, { isWhole: false })
  const put = async (bytes: Buffer, name: string, type: string) => ({
    file: (await engine.files.put([bytes], { name, type })).id,
  })
  const onItsHead = scanOf(lines, { isWhole: false, degrees: 182 })
  const scanned = scannedPdf([scan], 'Processo 123, folha 1')
  const documents = [
    await put(scanned, 'um.pdf', 'application/pdf'),
    await put(onItsHead.png, 'dois.png', 'image/png'),
    await put(goodPdf('D-3 é um contrato de locação'), 'tres.pdf', 'application/pdf'),
    await put(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'quatro.png', 'image/png'),
  ]
  const made = await execute({ documents, ocrPages: 10 })
  const without = await execute({ documents: documents.slice(0, 2) })
  await run()
  expect(await seen(made.run)).toMatchObject([
    {
      state: 'succeeded',
      category: 'Contrato',
      justification: expect.stringMatching(/Texto lido por OCR em 1 página, com confiança de [89]\d %\.$/),
    },
    { state: 'succeeded', category: 'Contrato' },
    { state: 'succeeded', category: 'Contrato', justification: expect.not.stringContaining('OCR') },
    { state: 'skipped', error: { message: expect.stringContaining('imagem que não pôde ser lida') } },
  ])
  const costs = await sql(
    `select ocr, ocr_paginas, ocr_confianca > 0.8 as sure, ocr_segundos > 0 as costs
     from classifier.resultados_classificacao where execucao_id = $1 order by n`,
    [made.run],
  )
  const read = { ocr: true, ocr_paginas: 1, sure: true, costs: true }
  const unread = { ocr: false, ocr_paginas: null, sure: null, costs: null }
  expect(costs).toEqual([read, read, unread, unread])
  for (const { asked } of server.calls.filter(call => call.document === 'D-1')) {
    const { right, all } = wordsRight(lines, asked.at(-1)!.content)
    expect(right / all).toBeGreaterThan(0.9)
  }
  expect(await seen(without.run)).toMatchObject([
    // The stamp of the court is all the text.
    { state: 'succeeded', justification: expect.not.stringContaining('OCR') },
    { state: 'skipped', error: { message: 'imagem, e o OCR está desligado no projeto' } },
  ])
})
