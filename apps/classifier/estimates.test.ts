/** Before an execution starts: what it would cost and take, a sample of it, and the question that the AI gets. */
import { expect, test } from 'vitest'
import { estimateOf } from './estimate.ts'
import { sampleOf } from './sample.ts'
import type { Basis } from './store/estimates.ts'
import { realDoor } from './test/real-door.ts'

const basis: Basis = {
  documents: 100,
  averageUsd: 0.002,
  highestUsd: 0.005,
  slopeUsd: 0.000001,
  interceptUsd: 0.001,
  perSecond: 4,
}

test('an estimate follows the lengths where they are known, and the average elsewhere; the pace is never above the limit of requests', () => {
  expect(estimateOf([1000, 1000, null], basis, undefined)).toEqual({
    costUsd: '0.006000',
    highestUsd: '0.015000',
    seconds: 1,
  })
  expect(estimateOf([10_000_000], basis, undefined).costUsd).toBe('0.049000')
  expect(estimateOf(Array(120).fill(null), basis, 60).seconds).toBe(120)
  expect(estimateOf([5], { ...basis, slopeUsd: null, interceptUsd: null }, undefined).costUsd).toBe('0.002000')
  const none = { documents: 0, averageUsd: null, highestUsd: null, slopeUsd: null, interceptUsd: null, perSecond: null }
  expect(estimateOf([5], none, undefined)).toEqual({ costUsd: null, highestUsd: null, seconds: null })
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
  expect((await rerun({ codigos: ['doc-1'] })).body).toMatchObject({ documentos: 1, custo_usd_exato: '0.001200' })
  expect(server.calls).toHaveLength(4)
  expect((await ask('POST', '/projetos/999/estimativa', { body: { documentos } })).status).toBe(404)
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
