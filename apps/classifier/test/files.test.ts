/** Documents sent as files: from the bytes in PostgreSQL to the category. */
import { seconds } from 'retoma'
import { expect, test } from 'vitest'
import { eachDocument, ok, refuses } from './behaviours.ts'
import { classifier } from './executions.ts'
import { docxOf } from './office-files.ts'
import { goodPdf } from './pdfs.ts'

test('a PDF, a text, a DOCX and a web page are read, an empty one and one of another type are skipped, one that is none fails with a sentence', async () => {
  const { server, engine, execute, run, seen } = await classifier()
  const put = async (bytes: Buffer, name: string, type: string) => ({
    file: (await engine.files.put([bytes], { name, type })).id,
  })
  const made = await execute({
    documents: [
      await put(goodPdf('D-1 é uma petição inicial'), 'um.pdf', 'application/pdf'),
      await put(Buffer.from('D-2 é um contrato de locação', 'latin1'), 'dois.txt', 'text/plain'),
      await put(goodPdf(''), 'tres.pdf', 'application/pdf'),
      await put(Buffer.from('<html>D-4</html>'), 'quatro.pdf', 'application/pdf'),
      { file: '999999' },
      await put(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'foto.png', 'image/png'),
      await put(Buffer.from('MZ'), 'virus.exe', 'application/octet-stream'),
      await put(docxOf(['D-8 é um contrato']), 'oito.docx', 'application/octet-stream'),
      await put(Buffer.from('<html><p>D-9 é um contrato</html>'), 'nove.html', 'text/html'),
    ],
  })
  await run()
  expect(await seen(made.run)).toMatchObject([
    { state: 'succeeded', category: 'Petição Inicial', starts: 1 },
    { state: 'succeeded', category: 'Contrato', starts: 1 },
    { state: 'skipped', error: { message: expect.stringContaining('PDF sem texto') } },
    { state: 'failed', starts: 1, error: { code: 'not_a_pdf' } },
    { state: 'failed', starts: 1, error: { code: 'document_gone' } },
    { state: 'skipped', error: { message: 'imagem, e o OCR está desligado no projeto' } },
    {
      state: 'skipped',
      error: {
        message: 'tipo de arquivo que não é lido: envie PDF, Word, planilha, e-mail, HTML, XML, imagem ou texto',
      },
    },
    { state: 'succeeded', category: 'Contrato', starts: 1 },
    { state: 'succeeded', category: 'Contrato', starts: 1 },
  ])
  expect(server.calls.map(call => call.document).sort()).toEqual(['D-1', 'D-2', 'D-8', 'D-9'])
})

test('a PDF is fetched and read once, however often it is asked about', async () => {
  const { server, engine, execute, run, seen, sql, clock } = await classifier()
  server.behave(eachDocument(refuses(500), refuses(429), ok()))
  const { id } = await engine.files.put([goodPdf('D-1 é um contrato')], { name: 'um.pdf', type: 'application/pdf' })
  const made = await execute({ documents: [{ file: id }] })
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'waiting', failures: 1 }])
  await sql(`delete from retoma.file_chunk`)
  for (let n = 0; n < 3; n++) {
    await clock.advance(seconds(12))
    await run()
  }
  expect(await seen(made.run)).toMatchObject([{ state: 'succeeded', category: 'Contrato', starts: 2 }])
  expect(server.calls).toHaveLength(3)
})
