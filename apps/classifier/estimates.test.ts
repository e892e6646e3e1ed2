/** Before an execution starts: what it would cost and take, a sample of it, and the question that the AI gets. */
import { expect, test } from 'vitest'
import { estimateOf, sizeOfFile } from './estimate.ts'
import { sampleOf } from './sample.ts'
import type { Basis } from './store/estimates.ts'
import { docxOf } from './test/office-files.ts'
import { realDoor } from './test/real-door.ts'

const basis: Basis = {
  documents: 100,
  averageUsd: 0.002,
  highestUsd: 0.005,
  slopeUsd: 0.000001,
  interceptUsd: 0.001,
  endings: new Map([
    ['docx', { averageUsd: 0.002, slopeUsd: 0.0000001, interceptUsd: 0.001 }],
    ['pdf', { averageUsd: 0.003, slopeUsd: -1, interceptUsd: 5 }],
  ]),
  perSecond: 4,
}

/** A document of so many characters. */
const text = (characters: number | null) => ({ characters })

test('an estimate follows the lengths where they are known, and the average elsewhere; the pace is never above the limit of requests', () => {
  expect(estimateOf([text(1000), text(1000), text(null)], basis, undefined)).toEqual({
    costUsd: '0.006000',
    highestUsd: '0.015000',
    seconds: 1,
  })
  expect(estimateOf([text(10_000_000)], basis, undefined).costUsd).toBe('0.049000')
  expect(estimateOf(Array(120).fill(text(null)), basis, 60).seconds).toBe(120)
  expect(estimateOf([text(5)], { ...basis, slopeUsd: null, interceptUsd: null }, undefined).costUsd).toBe('0.002000')
  const nothing = { averageUsd: null, highestUsd: null, slopeUsd: null, interceptUsd: null, perSecond: null }
  const none = { ...nothing, documents: 0, endings: new Map() }
  expect(estimateOf([text(5)], none, undefined)).toEqual({ costUsd: null, highestUsd: null, seconds: null })
})

test('an estimate follows the bytes of a file by the past of its ending, up to the longest question', () => {
  const costOf = (name: string, bytes: number) => estimateOf([sizeOfFile(name, bytes)], basis, undefined).costUsd
  expect(costOf('a.docx', 20_000)).toBe('0.003000')
  expect(costOf('pasta/A.DOCX', 20_000)).toBe('0.003000')
  expect(costOf('a.docx', 50_000_000)).toBe('0.049000')
  // The price of a PDF does not grow with its bytes.
  expect(costOf('a.pdf', 50_000_000)).toBe('0.003000')
  expect(costOf('a.eml', 20_000)).toBe('0.002000')
  expect(costOf('sem nome', 20_000)).toBe('0.002000')
  expect(costOf('a.constructor', 20_000)).toBe('0.002000')
  expect(costOf('a.txt', 3000)).toBe('0.004000')
})

test.each([
  [10, 3],
  [2000, 20],
  [3, 3],
  [5, 9],
])('a sample of %i documents by %i has that many, evenly', (total, size) => {
  const places = sampleOf(total, size).flatMap((isIn, n) => (isIn ? [n] : []))
  expect(places).toHaveLength(Math.min(total, size))
  const gaps = places.slice(1).map((place, n) => place - places[n]!)
  expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThanOrEqual(1)
})

test('past answers of the model are the price of the next ones; another model has no price yet', async () => {
  const { ask, execution, run, server } = await realDoor()
  const id = await execution(4, { modelo: 'a/um' })
  const { projeto_id: of } = (await ask('GET', `/execucoes/${id}`)).body
  const estimate = async (body: object) => (await ask('POST', `/projetos/${of}/estimativa`, { body })).body
  const documentos = Array.from({ length: 10 }, () => ({ nome: 'a.pdf', bytes: 1000 }))
  expect(await estimate({ documentos })).toMatchObject({ custo_usd: null, segundos: null, base: { documentos: 0 } })
  await run()
  expect(await estimate({ documentos })).toMatchObject({
    documentos: 10,
    modelo: 'a/um',
    custo_usd: '0.01',
    custo_usd_exato: '0.012000',
    custo_maximo_usd: '0.012000',
    moeda: 'USD',
    segundos: expect.any(Number),
    base: { documentos: 4 },
  })
  expect(await estimate({ documentos, modelo: 'b/dois' })).toMatchObject({ modelo: 'b/dois', custo_usd: null })
  const rerun = (body?: object) => ask('POST', `/execucoes/${id}/estimativa`, { ...(body && { body }) })
  expect((await rerun()).body).toMatchObject({ documentos: 4, custo_usd_exato: '0.004800' })
  expect((await rerun({ amostra: 2 })).body).toMatchObject({ documentos: 2, custo_usd_exato: '0.002400' })
  expect((await rerun({ codigos: ['doc-1'] })).body).toMatchObject({ documentos: 1, custo_usd_exato: '0.001200' })
  expect(server.calls).toHaveLength(4)
  expect((await ask('POST', '/projetos/999/estimativa', { body: { documentos } })).status).toBe(404)
})

test('the pace is the pace of work: neither a night between two answers nor executions without answers count', async () => {
  const { act, ask, execution, run, sql } = await realDoor()
  const first = await execution(5, { modelo: 'a/um' })
  const { projeto_id: of } = (await ask('GET', `/execucoes/${first}`)).body
  await run()
  const at = (code: string, instant: string) =>
    sql(`update classifier.document set answered_at = '${instant}' where run_id = ${first} and code = '${code}'`)
  // An answer every two seconds; the last document was sent again the next day.
  for (const n of [1, 2, 3, 4]) await at(`doc-${n}`, `2026-01-01T10:00:0${2 * n}Z`)
  await at('doc-5', '2026-01-02T10:00:00Z')
  const body = { documentos: Array.from({ length: 30 }, () => ({ nome: 'a.pdf', bytes: 1000 })) }
  const estimate = async () => (await ask('POST', `/projetos/${of}/estimativa`, { body })).body
  const expected = { custo_usd_exato: '0.036000', segundos: 60, base: { documentos: 5 } }
  expect(await estimate()).toMatchObject(expected)
  // Of these five executions three have only answers of before, one is cancelled, and one waits.
  for (let n = 1; n <= 3; n++) await act(first, 'nova', { body: { reaproveitar: true } })
  await run()
  const second = (await act(first, 'nova')).body.id
  await act(second, 'cancelar')
  await act(first, 'nova')
  expect(await estimate()).toMatchObject(expected)
})

test('files of an ending have the price of earlier files of the same ending and size; the limits are those of an upload', async () => {
  const { ask, fetch, project, run, server, sql } = await realDoor()
  const projeto_id = await project()
  const form = new FormData()
  form.append('projeto_id', projeto_id)
  for (const n of [1, 2, 3]) form.append('arquivos', new Blob([docxOf([`D-${n} é um contrato.`])]), `D-${n}.docx`)
  form.append('arquivos', new Blob(['D-4 é um contrato.']), 'D-4.html')
  await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  await run()
  expect(server.calls).toHaveLength(4)
  // 10, 20 and 30 KB for 0.001, 0.002 and 0.003; the HTML cost 0.01.
  await sql(`update retoma.file set size = 10000 * substring(name from '\\d')::int where name like '%.docx'`)
  await sql(
    `update classifier.document set cost_usd = 0.001 * substring(code from '\\d')::int where code like '%.docx'`,
  )
  await sql(`update classifier.document set cost_usd = 0.01 where code = 'D-4.html'`)
  const estimate = async (nome: string, bytes: number, more: object[] = []) =>
    ask('POST', `/projetos/${projeto_id}/estimativa`, { body: { documentos: [{ nome, bytes }, ...more] } })
  expect((await estimate('a.docx', 25_000)).body).toMatchObject({ custo_usd_exato: '0.002500' })
  expect((await estimate('A.HTML', 1)).body).toMatchObject({ custo_usd_exato: '0.010000' })
  expect((await estimate('a.pdf', 1)).body).toMatchObject({ custo_usd_exato: '0.004000' })
  expect(await estimate('pasta.ZIP', 60_000_000)).toMatchObject({
    status: 400,
    body: { error: { field: 'documentos.0.nome', message: expect.stringContaining('ZIP') } },
  })
  const megabytes = 1024 * 1024
  expect((await estimate('a.pdf', 50 * megabytes)).status).toBe(200)
  expect(await estimate('a.pdf', 50 * megabytes + 1)).toMatchObject({
    status: 413,
    body: { error: { code: 'document_too_large', name: 'a.pdf' } },
  })
  const others = Array.from({ length: 2000 }, () => ({ nome: 'a.pdf', bytes: 1 }))
  expect(await estimate('a.pdf', 1, others)).toMatchObject({
    status: 413,
    body: { error: { code: 'too_many_documents' } },
  })
})

test('a sample is classified and paid alone, and the rest runs later without an upload', async () => {
  const { act, ask, execution, project, run, server, status } = await realDoor()
  const projeto_id = await project()
  const documentos = Array.from({ length: 10 }, (_, n) => ({
    codigo: `doc-${n + 1}`,
    texto: `D-${n + 1} é um contrato.`,
  }))
  const { id } = (await ask('POST', '/execucoes', { body: { projeto_id, documentos, amostra: 3 } })).body
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', total: 10, concluidos: 3, pulados: 7, erros: 0 })
  expect(server.calls).toHaveLength(3)
  const left = (await ask('GET', `/execucoes/${id}/documentos?status=PULADO`)).body.items
  expect(left[0]).toMatchObject({ erro_mensagem: 'fora da amostra' })
  const one = left[0].codigo
  await ask('POST', `/execucoes/${id}/documentos/${one}/reprocessar`)
  await run()
  expect((await ask('GET', `/execucoes/${id}/documentos/${one}`)).body).toMatchObject({ status: 'CONCLUIDO' })
  const rest = await act(id, 'nova', { body: { fora_da_amostra: true } })
  expect(rest.body).toMatchObject({ total: 6 })
  await run()
  expect(server.calls).toHaveLength(10)
  expect(new Set(server.calls.map(call => call.document)).size).toBe(10)
  const again = await execution(5)
  await run()
  const few = await act(again, 'nova', { body: { amostra: 2 } })
  await run()
  expect(await status(few.body.id)).toMatchObject({ total: 5, concluidos: 2, pulados: 3 })
})

test('a sample of a form is a number in its range', async () => {
  const { fetch, project, run, status } = await realDoor()
  const send = async (amostra: string) => {
    const form = new FormData()
    form.append('projeto_id', await project())
    form.append('amostra', amostra)
    for (const n of [1, 2, 3]) form.append('arquivos', new Blob([`D-${n}`]), `D-${n}.txt`)
    const made = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
    return { status: made.status, body: (await made.json()) as { id: string } }
  }
  for (const wrong of ['0', '2001', 'x', '1.5'])
    expect(await send(wrong)).toMatchObject({ status: 400, body: { error: { field: 'amostra' } } })
  const { body } = await send('1')
  await run()
  expect(await status(body.id)).toMatchObject({ concluidos: 1, pulados: 2 })
})

test('the question is shown before anybody pays for it, and is the one that the AI gets', async () => {
  const { ask, execution, run, server } = await realDoor()
  const id = await execution(1, { modelo: 'a/um', instrucoes: 'Olhe o cabeçalho.' })
  const { projeto_id: of } = (await ask('GET', `/execucoes/${id}`)).body
  const before = (await ask('GET', `/projetos/${of}/prompt`)).body
  expect(before).toMatchObject({
    modelo: 'a/um',
    exemplos: 0,
    mensagens: [
      { papel: 'system', conteudo: expect.stringContaining('Olhe o cabeçalho.') },
      { papel: 'user', conteudo: '[o texto do documento]' },
    ],
  })
  const { mensagens } = (await ask('GET', `/execucoes/${id}/prompt?codigo=doc-1`)).body
  await run()
  expect(mensagens).toEqual(server.calls[0]!.asked.map(({ role, content }) => ({ papel: role, conteudo: content })))
  expect((await ask('GET', `/execucoes/${id}/prompt?codigo=nada`)).status).toBe(404)
})
