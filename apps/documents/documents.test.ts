/** A document from the upload to the erasure: the answers, the list, the search, the download. */
import { createHash } from 'node:crypto'
import { days, hours, seconds } from 'retoma'
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
  for (const image of ['ffd8ffe000104a464946', '89504e470d0a1a0a', '474946383961', '52494646240000005745425056503820'])
    expect((await t.upload(Buffer.from(image, 'hex'), { name: 'foto.pdf' })).body.error.message).toBe(
      'o arquivo "foto.pdf" não é um PDF: parece ser uma imagem',
    )
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

test('the same bytes of the same user are said to be a duplicate, and processed all the same', async () => {
  const t = await documentsDoor()
  const bytes = goodPdf('boleto')
  const first = (await t.upload(bytes, { user: 'ana' })).body.id
  await t.clock.advance(seconds(1))
  const second = await t.upload(bytes, { user: 'ana', name: 'outro-nome.pdf' })
  expect(second).toMatchObject({ status: 202, body: { duplicate_of: first } })
  await t.work()
  expect(await t.read(second.body.id, { user: 'ana' })).toMatchObject({ status: 'DONE', duplicate_of: first })
  expect(await t.read(first, { user: 'ana' })).toMatchObject({ duplicate_of: null })
  expect((await t.as('ana', 'DELETE', `/api/documents/${first}`)).status).toBe(204)
  expect(await t.read(second.body.id, { user: 'ana' })).toMatchObject({ duplicate_of: null })
})

test('an Idempotency-Key makes one document; the same key with another file is 409, and after the erasure 404', async () => {
  const t = await documentsDoor()
  const given = { name: 'a.pdf', headers: { 'idempotency-key': 'k1' } }
  const first = await t.upload(goodPdf('a'), given)
  const again = await t.upload(goodPdf('a'), given)
  expect([again.status, again.body]).toEqual([202, first.body])
  expect((await t.upload(goodPdf('b'), given)).status).toBe(409)
  expect((await t.list()).items).toHaveLength(1)
  const { rows } = await t.engine.query<{ n: number }>('select count(*)::int as n from retoma.file')
  expect(rows[0]!.n).toBe(1)
  expect((await t.ask('DELETE', `/api/documents/${first.body.id}`)).status).toBe(204)
  expect((await t.upload(goodPdf('a'), given)).status).toBe(404)
})

test('the list goes by pages, newest first, and by status', async () => {
  const t = await documentsDoor({}, { rateLimits: 'off' })
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    ids.unshift(await t.send({ name: `${n}.pdf` }))
    await t.clock.advance(seconds(1))
  }
  const first = await t.list('?limit=2')
  const second = await t.list(`?limit=2&after=${first.next}`)
  const third = await t.list(`?limit=2&after=${second.next}`)
  const pages = [first, second, third].map(({ items }) => items.map((each: { id: string }) => each.id))
  expect(pages.flat()).toEqual(ids)
  expect(third.next).toBeNull()
  await t.work()
  const waiting = await t.send()
  expect((await t.list('?status=PENDING')).items).toMatchObject([{ id: waiting }])
  expect((await t.list('?status=DONE')).items).toHaveLength(5)
  expect(await t.list('?after=x')).toMatchObject({ error: { code: 'bad_request', field: 'after' } })
  expect(await t.list('?status=x')).toMatchObject({ error: { code: 'bad_request', field: 'status' } })
})

test('the search finds words in Portuguese and in English, in any form, with and without accents, in the name too', async () => {
  const texts: Record<string, string> = {
    'aluguel.pdf':
      'Contrato de locação residencial entre as partes, que não será renovado sem as obrigações do locatário',
    'lease.pdf':
      'The tenants shall be paying the rent on the first day of each month and this is not a warranty for the shoes',
    'Relatório_2024_Cotações.pdf': '東京 契約書',
  }
  const t = await documentsDoor({
    read: async (_ctx, _path, name) => ({ pages: 1, title: '', text: texts[name]!, isComplete: true }),
  })
  for (const name of Object.keys(texts)) await t.send({ name })
  const found = async (q: string) =>
    (await t.list(`?q=${encodeURIComponent(q)}`)).items.map((each: { filename: string }) => each.filename).sort()
  expect(await found('relatorio')).toEqual(['Relatório_2024_Cotações.pdf'])
  await t.work()
  for (const q of [
    'locação',
    'locacao',
    'LOCAÇÃO',
    'obrigação',
    'obrigações',
    'obrigacoes',
    'obrigacao',
    'locacoes',
    'contratos',
    '"contrato de locação"',
  ])
    expect(await found(q), q).toEqual(['aluguel.pdf'])
  for (const q of ['tenant', 'shoes', 'shoe', 'paid OR paying', 'rents month'])
    expect(await found(q), q).toEqual(['lease.pdf'])
  for (const q of ['relatório', 'relatorio 2024', 'relatorio cotacao', '契約書'])
    expect(await found(q), q).toEqual(['Relatório_2024_Cotações.pdf'])
  for (const q of ['inexistente', 'locação tenant', "' | ! & (", 'de', '-']) expect(await found(q), q).toEqual([])
})

test('the download is the file as sent, as an attachment with its name, in parts too', async () => {
  const t = await documentsDoor()
  const bytes = goodPdf('a')
  const { id } = (await t.upload(bytes, { name: 'relatório "2024".pdf' })).body
  const get = (headers: Record<string, string> = {}) =>
    t.fetch(new Request(`http://127.0.0.1:3000/api/documents/${id}/download`, { headers }))
  const whole = await get()
  expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true)
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': `attachment; filename="relat_rio _2024_.pdf"; filename*=UTF-8''relat%C3%B3rio%20%222024%22.pdf`,
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
  })
  const part = await get({ range: 'bytes=5-' })
  expect(part.status).toBe(206)
  expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5))).toBe(true)
  expect((await get({ 'if-none-match': whole.headers.get('etag')! })).status).toBe(304)
})

test('DELETE erases the row, the text, the file, the job and its steps; a document at work too', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  await t.work()
  const waiting = await t.send()
  expect((await t.ask('GET', `/api/documents/${id}/text`)).body).toContain('um aviso para os')
  for (const each of [id, waiting]) {
    expect((await t.ask('DELETE', `/api/documents/${each}`)).status).toBe(204)
    for (const path of ['', '/download', '/text', '/thumbnail'])
      expect((await t.ask('GET', `/api/documents/${each}${path}`)).status).toBe(404)
    expect((await t.ask('DELETE', `/api/documents/${each}`)).status).toBe(404)
  }
  for (const table of [
    'documents.documents',
    'retoma.file',
    'retoma.file_chunk',
    'retoma.job',
    'retoma.checkpoint',
    'retoma.event',
  ])
    expect((await t.engine.query(`select from ${table}`)).rowCount, table).toBe(0)
})

test('after the retention the janitor removes the job, and the document follows', async () => {
  const t = await documentsDoor()
  const old = await t.send()
  await t.work()
  await t.schedule()
  await t.clock.advance(days(91))
  const young = await t.send()
  await t.clean()
  await t.schedule()
  await t.work()
  expect((await t.list()).items.map((each: { id: string }) => each.id)).toEqual([young])
  expect(old).not.toBe(young)
  expect((await t.engine.query(`select from documents.documents`)).rowCount).toBe(1)
})

test('a reprocess that breaks off before it erases the first job leaves nothing of that job, neither after the next run nor after DELETE', async () => {
  const t = await documentsDoor()
  const ids = [await t.send(), await t.send()]
  await t.work()
  const jobs = async () => (await t.engine.jobs.list({ kind: 'process-document' })).items.length
  await t.engine.query(
    `create function public.broken() returns trigger language plpgsql as 'begin raise exception ''away''; end'`,
  )
  await t.engine.query(
    `create trigger broken before delete on retoma.job for each row execute function public.broken()`,
  )
  for (const id of ids) expect((await t.ask('POST', `/api/documents/${id}/reprocess`)).status).toBe(202)
  expect(await jobs()).toBe(4)
  await t.engine.query(`drop function public.broken cascade`)
  expect((await t.ask('DELETE', `/api/documents/${ids[0]}`)).status).toBe(204)
  expect(await jobs()).toBe(2)
  await t.work()
  expect(await t.read(ids[1]!)).toMatchObject({ status: 'DONE' })
  expect(await jobs()).toBe(1)
})

test('a second reprocess names the jobs of the first reprocess that was cancelled before it ran: DELETE leaves none of them', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  await t.work()
  const jobs = async () => (await t.engine.jobs.list({ kind: 'process-document' })).items
  await t.engine.query(
    `create function public.broken() returns trigger language plpgsql as 'begin raise exception ''away''; end'`,
  )
  await t.engine.query(
    `create trigger broken before delete on retoma.job for each row execute function public.broken()`,
  )
  for (const count of [2, 3]) {
    expect((await t.ask('POST', `/api/documents/${id}/reprocess`)).status).toBe(202)
    const all = await jobs()
    expect(all).toHaveLength(count)
    await t.engine.jobs.cancel(all.find(({ state }) => state === 'waiting')!.id)
  }
  await t.engine.query(`drop function public.broken cascade`)
  expect((await t.ask('DELETE', `/api/documents/${id}`)).status).toBe(204)
  expect(await jobs()).toEqual([])
})

const oldDocuments = `
  insert into documents.documents
    (id, user_id, filename, size, sha256, file_id, status, job_id, search, created_at, updated_at, deleted_at)
  select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'ana', 'old-' || n || '.pdf', 1, ''::bytea, 0, 'DONE', $2, '', now(), now(), $3
  from generate_series(1, $1::int) n`

test('the tidy job erases all documents whose erasure was interrupted, also behind one that cannot be erased', async () => {
  const t = await documentsDoor()
  await t.engine.query(oldDocuments, [250, 999_999_999, t.clock.now()])
  await t.engine.query(
    `create function public.broken() returns trigger language plpgsql as 'begin if old.filename = ''old-3.pdf'' then raise exception ''away''; end if; return old; end'`,
  )
  await t.engine.query(
    `create trigger broken before delete on documents.documents for each row execute function public.broken()`,
  )
  await t.schedule()
  await t.clock.advance(hours(1))
  await t.schedule()
  await t.run()
  const left = async () => (await t.engine.query(`select filename from documents.documents`)).rows
  expect(await left()).toEqual([{ filename: 'old-3.pdf' }])
  await t.engine.query(`drop function public.broken cascade`)
  await t.clock.advance(hours(1))
  await t.schedule()
  await t.work()
  expect(await left()).toEqual([])
})

test('a thousand old documents with a young job keep no other document from its retention', async () => {
  const t = await documentsDoor()
  const young = await t.send()
  const [job] = (await t.engine.jobs.list({ kind: 'process-document' })).items
  await t.engine.query(oldDocuments, [1001, job!.id, null])
  const gone = await t.send()
  await t.engine.query(`update documents.documents set job_id = 999999999 where id = $1`, [gone])
  await t.schedule()
  await t.clock.advance(hours(1))
  await t.schedule()
  await t.work()
  const { rows } = await t.engine.query(`select id from documents.documents where id in ($1, $2)`, [young, gone])
  expect(rows).toEqual([{ id: young }])
  expect((await t.engine.query(`select from documents.documents`)).rowCount).toBe(1002)
})

test('parameters of the list without a value are as absent', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  expect((await t.list('?status=&q=&limit=&after=')).items).toMatchObject([{ id }])
})

test('an Idempotency-Key reprocesses a document once, and after the erasure the answer is 404', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  await t.work()
  const again = (headers: Record<string, string>) => t.ask('POST', `/api/documents/${id}/reprocess`, { headers })
  const first = await again({ 'idempotency-key': 'k' })
  expect([first.status, first.body]).toEqual([202, { id, status: 'PENDING' }])
  await t.work()
  const jobs = async () => (await t.engine.jobs.list({ kind: 'process-document' })).items.map(each => each.id)
  const before = await jobs()
  const second = await again({ 'idempotency-key': 'k' })
  expect([second.status, second.body, second.headers.get('idempotent-replayed')]).toEqual([202, first.body, 'true'])
  expect(await jobs()).toEqual(before)
  await t.ask('DELETE', `/api/documents/${id}`)
  expect((await again({ 'idempotency-key': 'k' })).status).toBe(404)
})
