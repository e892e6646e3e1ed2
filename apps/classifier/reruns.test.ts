/** Documents run again without an upload, with other settings, and two executions are compared. */
import { expect, test, vi } from 'vitest'
import { until } from '../../test/support/engine.ts'
import { ok } from './test/behaviours.ts'
import { expectBooksToAdd } from './test/executions.ts'
import { realDoor } from './test/real-door.ts'

type Door = Awaited<ReturnType<typeof realDoor>>

/** Sends text files, `D-1.txt` and so on, each about a contract; returns the id. */
async function sendFiles({ fetch, project }: Door, many: number, more: object = {}): Promise<string> {
  const form = new FormData()
  form.append('projeto_id', await project(more))
  for (let n = 1; n <= many; n++) form.append('arquivos', new Blob([`D-${n} é um contrato de locação.`]), `D-${n}.txt`)
  const made = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  return ((await made.json()) as { id: string }).id
}

const codes = async ({ ask }: Door, id: string): Promise<string[]> =>
  (await ask('GET', `/execucoes/${id}/documentos?limit=500`)).body.items.map((each: { codigo: string }) => each.codigo)

const filesIn = async ({ sql }: Door) => ({
  files: (await sql('select from retoma.file')).length,
  chunks: (await sql('select from retoma.file_chunk')).length,
})

const numberOf = (document: string) => Number(document.slice(2))

test('every document runs again with another model: no upload, the comparison is right by count, and each cost equals the ledger', async () => {
  const door = await realDoor()
  const { ask, act, run, server, sql, status } = door
  server.charge(0.001)
  const first = await sendFiles(door, 30, { modelo: 'a/um' })
  await run()
  expect(await filesIn(door)).toEqual({ files: 30, chunks: 30 })
  // The other model has another opinion about every fifth document.
  server.charge(0.0004)
  server.behave(({ document }) => ok(numberOf(document) % 5 === 0 ? { categoria: 'Outros', confianca: 0.4 } : {}))
  const made = await act(first, 'nova', { body: { modelo: 'b/dois' } })
  expect(made).toMatchObject({ status: 201, body: { status: 'PENDENTE', total: 30, origem_id: first } })
  const second = made.body.id
  await run()
  expect(await status(second)).toMatchObject({ status: 'CONCLUIDO', concluidos: 30, modelo: 'b/dois' })
  expect((await ask('GET', `/execucoes/${second}`)).body).toMatchObject({ origem_id: first })
  expect(await codes(door, second)).toEqual(await codes(door, first))
  expect((await filesIn(door)).chunks).toBe(30)
  const paid = (model: string) =>
    server.calls.filter(call => call.model === model).reduce((sum, call) => sum + call.cost, 0)
  expect(server.calls.map(call => call.model).filter(model => model === 'b/dois')).toHaveLength(30)
  await expectBooksToAdd(sql, first, paid('a/um'))
  await expectBooksToAdd(sql, second, paid('b/dois'))
  const { body } = await ask('GET', `/execucoes/${first}/comparar/${second}?limit=4`)
  expect(body).toMatchObject({
    a: { id: first, modelo: 'a/um', total: 30, custo_usd: '0.03', custo_em_comum_usd: '0.030000' },
    b: { id: second, modelo: 'b/dois', total: 30, custo_usd: '0.01', custo_usd_exato: '0.012000' },
    moeda: 'USD',
    em_comum: 30,
    somente_em_a: 0,
    somente_em_b: 0,
    arquivo_diferente: 0,
    comparados: 30,
    iguais: 24,
    diferentes: 6,
    concordancia: 80,
    confusao: [
      { categoria_a: 'Contrato', categoria_b: 'Contrato', documentos: 24 },
      { categoria_a: 'Contrato', categoria_b: 'Outros', documentos: 6 },
    ],
    simulado: false,
  })
  expect(body.mudancas).toHaveLength(4)
  expect(body.mudancas[0]).toEqual({
    codigo: 'D-5.txt',
    categoria_a: 'Contrato',
    categoria_b: 'Outros',
    confianca_a: 0.93,
    confianca_b: 0.4,
  })
  const rest = (await ask('GET', `/execucoes/${first}/comparar/${second}?after=${body.next}`)).body
  expect([rest.mudancas.map((each: { codigo: string }) => each.codigo), rest.next]).toEqual([
    ['D-25.txt', 'D-30.txt'],
    null,
  ])
})

test('only the chosen documents run again: errors, a category, a low confidence, some codes; only they are paid', async () => {
  const door = await realDoor()
  const { act, run, server } = door
  server.behave(({ document, nth }) => {
    const n = numberOf(document)
    if (n === 1 && nth === 1) return ok({ categoria: 'inexistente' })
    return n === 2 ? ok({ categoria: 'Outros', confianca: 0.9 }) : ok({ confianca: n / 10 })
  })
  const first = await sendFiles(door, 6)
  await run()
  const asked = server.calls.length
  const again = async (body: object) => {
    const made = await act(first, 'nova', { body })
    await run()
    return codes(door, made.body.id)
  }
  expect(await again({ somente_erros: true })).toEqual(['D-1.txt'])
  expect(await again({ somente_categoria: 'outros' })).toEqual(['D-2.txt'])
  expect(await again({ confianca_abaixo_de: 0.5 })).toEqual(['D-3.txt', 'D-4.txt'])
  expect(await again({ codigos: ['D-6.txt', 'nada'], somente_categoria: 'Contrato' })).toEqual(['D-6.txt'])
  expect(server.calls.length - asked).toBe(5)
  expect(await act(first, 'nova', { body: { somente_categoria: 'Petição Inicial' } })).toMatchObject({
    status: 409,
    body: { error: { code: 'no_documents_chosen' } },
  })
  expect(await act(first, 'nova', { body: { somente_categoria: 'Recibo' } })).toMatchObject({
    status: 400,
    body: { error: { field: 'somente_categoria' } },
  })
  expect((await act('999', 'nova')).status).toBe(404)
})

test('other categories and instructions are those of the new execution alone; the rest of the question stays, and a change of the project counts for the rest', async () => {
  const door = await realDoor()
  const { act, ask, run, server, status } = door
  const first = await sendFiles(door, 1, { modelo: 'a/um', instrucoes: 'velhas', max_retries_execucao: 7 })
  await run()
  const body = { categorias: ['Locação', 'Resto'], instrucoes: 'novas' }
  const { id } = (await act(first, 'nova', { body })).body
  await run()
  const [before, after] = server.calls.map(call => call.asked[0]!.content)
  expect(before).toContain('velhas')
  expect(after).toContain('["Locação","Resto"]')
  expect(after).toContain('novas')
  expect(server.calls[1]!.model).toBe('a/um')
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', max_retries: 7 })
  expect(await act(first, 'nova', { body: { categorias: ['A', 'a'] } })).toMatchObject({ status: 400 })
  const { projeto_id: project } = (await ask('GET', `/execucoes/${first}`)).body
  const change = { instrucoes: 'do projeto', max_retries_execucao: 5, revisar_abaixo_de: 0.99, peso: 3, ocr: false }
  await ask('PATCH', `/projetos/${project}`, { body: change })
  const later = (await act(first, 'nova')).body.id
  await run()
  expect(server.calls[2]!.asked).toEqual(server.calls[0]!.asked)
  expect(await status(later)).toMatchObject({ status: 'CONCLUIDO', max_retries: 5, peso: 3 })
  expect((await ask('GET', `/execucoes/${later}/documentos?revisar=true`)).body.items).toHaveLength(1)
})

test('an answer is used again only where asked, and never the answer of another model', async () => {
  const door = await realDoor()
  const { act, run, server } = door
  const first = await sendFiles(door, 2, { modelo: 'a/um' })
  await run()
  const calls = async (body: object) => {
    const before = server.calls.length
    await act(first, 'nova', { body })
    await run()
    return server.calls.slice(before).map(call => call.model)
  }
  expect(await calls({ reaproveitar: true })).toEqual([])
  expect(await calls({ reaproveitar: true, modelo: 'b/dois' })).toEqual(['b/dois', 'b/dois'])
  expect(await calls({ reaproveitar: true, modelo: 'b/dois' })).toEqual([])
  expect(await calls({ reaproveitar: true, instrucoes: 'outras' })).toEqual(['a/um', 'a/um'])
  expect(await calls({})).toEqual(['a/um', 'a/um'])
})

test('the bytes of a file stay while one of the executions exists, in either order of erasing', async () => {
  const door = await realDoor()
  const { act, ask, clean, fetch, run, sql } = door
  const first = await sendFiles(door, 2)
  await run()
  const second = (await act(first, 'nova')).body.id
  await run()
  const third = (await act(second, 'nova')).body.id
  await run()
  const textIn = async (id: string) =>
    (await fetch(new Request(`http://127.0.0.1:3000/execucoes/${id}/documentos/D-2.txt/arquivo`))).text()
  const erase = async (id: string) => {
    expect((await ask('DELETE', `/execucoes/${id}`)).status).toBe(204)
    await clean()
  }
  await erase(first)
  for (const id of [second, third]) expect(await textIn(id)).toBe('D-2 é um contrato de locação.')
  const fourth = (await act(second, 'nova', { body: { codigos: ['D-2.txt'] } })).body.id
  await run()
  await erase(third)
  await erase(second)
  expect(await textIn(fourth)).toBe('D-2 é um contrato de locação.')
  expect(await filesIn(door)).toMatchObject({ chunks: 1 })
  await erase(fourth)
  expect(await filesIn(door)).toEqual({ files: 0, chunks: 0 })
  expect(await sql('select from classifier.document')).toEqual([])
})

test('a file that a person replaces meanwhile does not stop the execution that runs the documents again', async () => {
  const door = await realDoor()
  const { act, engine, fetch, run, sql } = door
  const first = await sendFiles(door, 2)
  await run()
  const addressIn = (id: string) => `http://127.0.0.1:3000/execucoes/${id}/documentos/D-1.txt/arquivo`
  const textIn = async (id: string) => (await fetch(new Request(addressIn(id)))).text()
  const share = engine.files.share
  let replaced: Promise<Response> | undefined
  vi.spyOn(engine.files, 'share').mockImplementation(async (...given) => {
    const body = new FormData()
    body.append('arquivo', new Blob(['D-1 é outra coisa.']), 'D-1.txt')
    let isReplaced = false
    replaced = fetch(new Request(addressIn(first), { method: 'PUT', body })).finally(() => {
      isReplaced = true
    })
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => isReplaced || (await sql(waiting)).length > 0)
    return share(...given)
  })
  const made = await act(first, 'nova')
  expect(made).toMatchObject({ status: 201, body: { total: 2 } })
  expect((await replaced!).status).toBe(200)
  expect(await textIn(first)).toBe('D-1 é outra coisa.')
  expect(await textIn(made.body.id)).toBe('D-1 é um contrato de locação.')
})

test('the same Idempotency-Key makes one execution, and after its erasure none', async () => {
  const door = await realDoor()
  const { act, ask, run, sql } = door
  const first = await sendFiles(door, 1)
  await run()
  const headers = { 'idempotency-key': 'k' }
  const made = await act(first, 'nova', { headers })
  expect((await act(first, 'nova', { headers })).body).toEqual(made.body)
  expect(await act(first, 'nova', { headers, body: { modelo: 'x/y' } })).toMatchObject({ status: 409 })
  expect(await sql('select from classifier.run')).toHaveLength(2)
  await run()
  await ask('DELETE', `/execucoes/${made.body.id}`)
  expect((await act(first, 'nova', { headers })).status).toBe(404)
})

test('documents of two executions are the same by code and bytes; others are counted apart', async () => {
  const { act, ask, execution, run } = await realDoor()
  const first = await execution(['a é um contrato', 'b', 'c'])
  await run()
  const other = await execution(['a é um contrato', 'outro texto'])
  const more = (await act(first, 'nova', { body: { codigos: ['doc-3'] } })).body.id
  await run()
  expect((await ask('GET', `/execucoes/${first}/comparar/${other}`)).body).toMatchObject({
    em_comum: 1,
    somente_em_a: 1,
    somente_em_b: 0,
    arquivo_diferente: 1,
    comparados: 1,
  })
  expect((await ask('GET', `/execucoes/${other}/comparar/${more}`)).body).toMatchObject({
    em_comum: 0,
    somente_em_a: 2,
    somente_em_b: 1,
    concordancia: null,
  })
  expect((await ask('GET', `/execucoes/${first}/comparar/999`)).status).toBe(404)
})
