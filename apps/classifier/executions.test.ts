/** Executions over HTTP: created from texts and files, shown, found again after a crash. */
import { expect, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { timePasses } from '../../test/support/engine.ts'
import { submitRun } from './runs.ts'
import { classifierDoor } from './test/door.ts'

type Door = Awaited<ReturnType<typeof classifierDoor>>

interface Sent {
  name: string
  bytes: string | Uint8Array
  type?: string
}

function form(projeto: string, files: readonly Sent[], more: Record<string, string> = {}): FormData {
  const data = new FormData()
  for (const { name, bytes, type = '' } of files) data.append('arquivos', new Blob([bytes], { type }), name)
  for (const [name, value] of Object.entries({ projeto_id: projeto, ...more })) data.append(name, value)
  return data
}

async function upload({ fetch }: Door, body: FormData, headers: Record<string, string> = {}) {
  const request = new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body, headers })
  const response = await fetch(request)
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return { status: response.status, body: (await response.json()) as any }
}

const filesLeft = async ({ engine }: Door) =>
  Number((await engine.query<{ n: string }>('select count(*) as n from retoma.file')).rows[0]!.n)

const codesOf = async ({ ask }: Door, id: string) =>
  (await ask('GET', `/execucoes/${id}/documentos`)).body.items.map((each: { codigo: string }) => each.codigo)

test('texts come in, are classified, and are read again', async () => {
  const door = await classifierDoor()
  const { ask, project, run, status } = door
  const documentos = [
    { codigo: 'a', texto: 'um\u0000 dois' },
    { codigo: 'a', texto: 'três' },
    { codigo: 'c', texto: 'três' },
  ]
  const made = await ask('POST', '/execucoes', { body: { projeto_id: await project(), documentos } })
  expect(made).toMatchObject({ status: 201, body: { status: 'PENDENTE', total: 3 } })
  const { id } = made.body
  expect(await codesOf(door, id)).toEqual(['a', 'a (2)', 'c'])
  await run()
  expect(await status(id)).toMatchObject({
    status: 'CONCLUIDO',
    status_exibicao: 'Concluído',
    total: 3,
    concluidos: 3,
    pendentes: 0,
    percentual: 100,
    rota_origem: '/classificador/',
    tentativas_retry: 0,
    max_retries: 3,
    pode_retomar: false,
    travado_motivo: null,
    erros_recentes: [],
  })
  const { items } = (await ask('GET', `/execucoes/${id}/documentos`)).body
  expect(items[2]).toMatchObject({ status: 'CONCLUIDO', tentativas: 1, categoria: 'Contrato', duplicado_de: 'a (2)' })
  const text = await ask('GET', `/execucoes/${id}/documentos/${encodeURIComponent('a (2)')}/arquivo`)
  expect(text.body).toBe('três')
  expect(text.headers.get('content-disposition')).toContain('attachment; filename="a (2).txt"')
})

test('files come in as a form, in any order of its fields, and go out as they came', async () => {
  const door = await classifierDoor()
  const { ask, project, run, status } = door
  const pdf = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0, 255, 10])
  const files = [
    { name: 'contrato.pdf', bytes: pdf, type: 'application/pdf' },
    { name: 'contrato.pdf', bytes: 'igual', type: 'application/pdf' },
    { name: 'ação.txt', bytes: 'igual' },
  ]
  const { status: made, body } = await upload(door, form(await project(), files))
  expect({ made, body }).toMatchObject({ made: 201, body: { status: 'PENDENTE', total: 3 } })
  expect(await codesOf(door, body.id)).toEqual(['contrato.pdf', 'contrato.pdf (2)', 'ação.txt'])
  await run()
  expect((await status(body.id)).status).toBe('CONCLUIDO')
  const at = (code: string) =>
    `http://127.0.0.1:3000/execucoes/${body.id}/documentos/${encodeURIComponent(code)}/arquivo`
  const answer = await door.fetch(new Request(at('contrato.pdf')))
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(pdf)
  expect(answer.headers.get('content-type')).toBe('application/pdf')
  expect((await ask('GET', `/execucoes/${body.id}/documentos/nada/arquivo`)).status).toBe(404)
  expect((await door.engine.query('select from retoma.file where batch_id is null')).rows).toEqual([])
})

test('what is too large or too many is refused by its name, and nothing of it is left', async () => {
  const door = await classifierDoor()
  const { ask, project } = door
  const id = await project()
  const good = { name: 'a.txt', bytes: 'a' }
  const sent = async (files: readonly Sent[], more = {}, to = id) => upload(door, form(to, files, more))
  expect(await sent([])).toMatchObject({ status: 400, body: { error: { field: 'arquivos' } } })
  expect(await sent([good], {}, '999')).toMatchObject({ status: 404 })
  expect(await sent([good], {}, 'x')).toMatchObject({ status: 404 })
  for (const projeto_id of ['x', 'x'.repeat(500), '0', 999])
    expect(
      await ask('POST', '/execucoes', { body: { projeto_id, documentos: [{ codigo: 'a', texto: 'a' }] } }),
    ).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  expect(await sent([good], {}, '')).toMatchObject({ status: 400, body: { error: { field: 'projeto_id' } } })
  expect(await sent([good], { reaproveitar: 'talvez' })).toMatchObject({
    status: 400,
    body: { error: { field: 'reaproveitar' } },
  })
  const large = { name: 'grande.pdf', bytes: new Uint8Array(50 * 1024 * 1024 + 1) }
  expect(await sent([good, large])).toMatchObject({
    status: 413,
    body: { error: { code: 'document_too_large', name: 'grande.pdf' } },
  })
  expect(await filesLeft(door)).toBe(0)
  const texts = (many: number) => Array.from({ length: many }, (_, n) => ({ codigo: `d${n}`, texto: 't' }))
  const ofTexts = (many: number) => ask('POST', '/execucoes', { body: { projeto_id: id, documentos: texts(many) } })
  expect(await ofTexts(0)).toMatchObject({ status: 400, body: { error: { field: 'documentos' } } })
  expect(await ofTexts(2001)).toMatchObject({
    status: 413,
    body: { error: { code: 'too_many_documents', most: 2000 } },
  })
  expect((await ask('GET', '/execucoes')).body).toEqual({ items: [], next: null })
  expect(await ofTexts(2000)).toMatchObject({ status: 201, body: { total: 2000 } })
})

test('one foreign file in a folder does not refuse the others: it is a document like them', async () => {
  const door = await classifierDoor()
  const files = [
    { name: 'a.txt', bytes: 'a' },
    { name: 'virus.exe', bytes: 'MZ', type: 'application/octet-stream' },
  ]
  const { status, body } = await upload(door, form(await door.project(), files))
  expect({ status, body }).toMatchObject({ status: 201, body: { total: 2 } })
  expect(await codesOf(door, body.id)).toEqual(['a.txt', 'virus.exe'])
})

test('2,000 files come in as one execution of 2,000 documents, and 2,001 are 413 with nothing left of them', async () => {
  const door = await classifierDoor()
  const id = await door.project()
  const most = 2000
  const files = Array.from({ length: most + 1 }, (_, n) => ({ name: `${n}.txt`, bytes: `texto ${n}` }))
  expect(await upload(door, form(id, files))).toMatchObject({ status: 413, body: { error: { most } } })
  expect(await filesLeft(door)).toBe(0)
  const made = await upload(door, form(id, files.slice(1)))
  expect(made).toMatchObject({ status: 201, body: { status: 'PENDENTE', total: most } })
  expect(await filesLeft(door)).toBe(most)
  const { rows } = await door.engine.query(
    `select count(distinct d.code)::int as codes, count(j.id)::int as jobs, count(f.sha256)::int as files
     from classifier.document d join retoma.job j on j.id = d.job_id join retoma.file f on f.id = d.file_id
     where d.run_id = $1`,
    [made.body.id],
  )
  expect(rows).toEqual([{ codes: most, jobs: most, files: most }])
  expect(await door.status(made.body.id)).toMatchObject({ total: most, pendentes: most })
})

test('with a key the same files make one execution, and others under it are a conflict', async () => {
  const door = await classifierDoor()
  const id = await door.project()
  const send = (bytes: string) => upload(door, form(id, [{ name: 'a.txt', bytes }]), { 'idempotency-key': 'k' })
  const [first, second] = [await send('a'), await send('a')]
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.body).toEqual(first.body)
  expect((await send('b')).status).toBe(409)
  expect((await door.ask('GET', '/execucoes')).body.items).toHaveLength(1)
  expect(await filesLeft(door)).toBe(1)
  let over = false
  const again = () => upload(door, form(id, [{ name: 'c.txt', bytes: 'c' }]), { 'idempotency-key': 'c' })
  const together = Promise.all([again(), again(), again()]).finally(() => {
    over = true
  })
  await timePasses(door.clock, () => over)
  expect(new Set((await together).map(({ body }) => body.id)).size).toBe(1)
  expect(await filesLeft(door)).toBe(2)
})

test('an execution whose maker died is submitted by whoever asks for it, once, or by its own job', async () => {
  const door = await classifierDoor()
  const { ask, clock, engine, execution, run, status, runs } = door
  /** The state after the creating process died before the submit, or before noting the submit. */
  const undo = async (id: string) => {
    await engine.query('update classifier.run set batch_id = null where id = $1', [id])
    await engine.query('update classifier.document set job_id = null where run_id = $1', [id])
  }
  const asked = await execution(['a', 'b'])
  await undo(asked)
  await Promise.all(Array.from({ length: 5 }, () => submitRun(engine, runs.classification, asked)))
  expect(await status(asked)).toMatchObject({ status: 'PENDENTE', pendentes: 2 })
  await undo(asked)
  expect((await ask('POST', `/execucoes/${asked}/pausar`)).body.status).toBe('PAUSADO')
  await ask('POST', `/execucoes/${asked}/continuar`)
  const unasked = await execution(['c'])
  await undo(unasked)
  await clock.advance(seconds(11))
  await run()
  expect((await engine.batches.list()).items).toHaveLength(2)
  for (const id of [asked, unasked]) expect((await status(id)).status).toBe('CONCLUIDO')
})

test('executions are listed, the newest first, by project and by status', async () => {
  const { ask, execution, project, act } = await classifierDoor()
  const id = await project()
  const [a, b] = [await execution(['a'], id), await execution(['b'])]
  await act(a, 'cancelar')
  const listed = async (query: string) =>
    (await ask('GET', `/execucoes${query}`)).body.items.map((each: { id: string }) => each.id)
  expect(await listed('')).toEqual([b, a])
  expect(await listed(`?projeto_id=${id}`)).toEqual([a])
  expect(await listed('?status=CANCELADO')).toEqual([a])
  expect(await listed('?projeto_id=x')).toEqual([])
  const { next } = (await ask('GET', '/execucoes?limit=1')).body
  expect(await listed(`?limit=1&after=${next}`)).toEqual([a])
  expect(await ask('GET', '/execucoes?after=x')).toMatchObject({ status: 400, body: { error: { field: 'after' } } })
})
