/** A document from the upload to the erasure: the answers, the list, the search, the download. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { goodPdf } from '../classifier/test/pdfs.ts'
import { documentsDoor } from './test/door.ts'

test('an upload is answered 202 before the processing, and the document is DONE afterwards with what was read', async () => {
  const t = await documentsDoor()
  const bytes = goodPdf('Contrato de locação')
  const { status, body } = await t.upload(bytes, { name: 'contrato.pdf', user: 'ana' })
  expect({ status, body }).toEqual({ status: 202, body: { id: body.id, status: 'PENDING', duplicate_of: null } })
  expect(await t.read(body.id, { user: 'ana' })).toMatchObject({ status: 'PENDING', pages: null, error_message: null })
  await t.work()
  expect(await t.read(body.id, { user: 'ana' })).toEqual({
    id: body.id,
    user: 'ana',
    filename: 'contrato.pdf',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    status: 'DONE',
    error_message: null,
    pages: 1,
    title: 'contrato.pdf',
    language: 'pt',
    text_complete: true,
    duplicate_of: null,
    thumbnail_url: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
})

test('the bytes decide what a PDF is, not the name; a file that is too large is 413, no file is 400', async () => {
  const t = await documentsDoor()
  const page = await t.upload('<!DOCTYPE html><html></html>', { name: 'conta.pdf' })
  expect(page).toMatchObject({ status: 415, body: { error: { code: 'upload_not_pdf' } } })
  expect(page.body.error.message).toBe('o arquivo "conta.pdf" não é um PDF: parece ser uma página da web')
  expect((await t.upload('', { name: 'vazio.pdf' })).status).toBe(415)
  expect((await t.upload(goodPdf('a'), { name: 'sem-extensao', type: 'text/plain' })).status).toBe(202)
  const large = Buffer.alloc(50 * 1024 * 1024 + 1)
  large.write('%PDF-1.7')
  const tooLarge = await t.upload(large, { name: 'grande.pdf' })
  expect(tooLarge).toMatchObject({ status: 413, body: { error: { code: 'upload_too_large' } } })
  const { rows } = await t.engine.query<{ n: number }>('select count(*)::int as n from retoma.file')
  expect(rows[0]!.n).toBe(1)
  const form = new FormData()
  form.set('file', new File([], ''))
  const none = await t.fetch(new Request('http://127.0.0.1:3000/api/documents', { method: 'POST', body: form }))
  expect(none.status).toBe(400)
  expect(await none.json()).toMatchObject({ error: { code: 'bad_request', field: 'file' } })
})
