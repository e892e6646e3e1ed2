/** One document of an execution: shown in detail, tried again, skipped, given another file; counts, search and a workbook of all. */
import { expect, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { gate } from '../../test/support/engine.ts'
import { type Behaviour, content, ok } from './test/behaviours.ts'
import { expectBooksToAdd } from './test/executions.ts'
import { realDoor } from './test/real-door.ts'
import { filesIn } from './test/zip.ts'

type Door = Awaited<ReturnType<typeof realDoor>>

const at = (id: string, code: string, action = '') => `/execucoes/${id}/documentos/${code}${action}`

async function put({ fetch }: Door, path: string, bytes: string, name = 'novo.txt') {
  const body = new FormData()
  body.append('arquivo', new Blob([bytes]), name)
  const response = await fetch(new Request(`http://127.0.0.1:3000${path}`, { method: 'PUT', body }))
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return { status: response.status, body: (await response.json()) as any }
}

/** A multipart body begins with its boundary. */
const boundaryOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes).split('\r\n')[0]!.slice(2)

test('a document in detail has what the AI wrote, for those who act', async () => {
  const { ask, engine, execution, run, server } = await realDoor()
  server.behave(({ document }) => (document === 'D-2' ? content('não sei') : ok()))
  const id = await execution(2, { max_retries_documento: 0 })
  await run()
  const detail = (await ask('GET', at(id, 'doc-1'))).body
  expect(detail).toMatchObject({
    codigo: 'doc-1',
    status: 'CONCLUIDO',
    categoria: 'Contrato',
    justificativa: 'O texto trata disso.',
    custo_usd_exato: '0.001200',
    resposta_ia: expect.stringContaining('"categoria":"Contrato"'),
  })
  expect((await ask('GET', at(id, 'doc-2'))).body).toMatchObject({ status: 'ERRO', resposta_ia: 'não sei' })
  expect((await ask('GET', at(id, 'nada'))).status).toBe(404)
  const { token } = await engine.tokens.create({ user: 'vi', role: 'viewer' })
  expect((await ask('GET', at(id, 'doc-1'), { token })).body).toEqual({ ...detail, resposta_ia: null })
})

test('one document runs again alone, or is skipped with a reason; in another state that is 409', async () => {
  const { ask, execution, run, server, status } = await realDoor()
  server.behave(({ nth }) => (nth === 1 ? ok({ categoria: 'inexistente' }) : ok()))
  const id = await execution(3)
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', erros: 3 })
  expect(await ask('POST', at(id, 'doc-1', '/reprocessar'))).toMatchObject({
    status: 200,
    body: { status: 'PENDENTE' },
  })
  expect((await ask('POST', at(id, 'doc-1', '/reprocessar'))).status).toBe(200)
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', concluidos: 1, erros: 2 })
  expect(await ask('POST', at(id, 'doc-1', '/reprocessar'))).toMatchObject({
    status: 409,
    body: { error: { code: 'document_state', status: 'CONCLUIDO' } },
  })
  expect(await ask('POST', at(id, 'doc-2', '/pular'), { body: { motivo: 'repetido' } })).toMatchObject({
    status: 200,
    body: { status: 'PULADO', erro_mensagem: 'repetido' },
  })
  expect((await ask('POST', at(id, 'doc-3', '/pular'))).body).toMatchObject({ erro_mensagem: 'pulado por uma pessoa' })
  expect(await ask('POST', at(id, 'doc-1', '/pular'))).toMatchObject({ status: 409 })
  expect(await status(id)).toMatchObject({ erros: 0, pulados: 2, status_exibicao: 'Concluído' })
  expect((await ask('POST', at(id, 'nada', '/pular'))).status).toBe(404)
})

test('another file in place of the one sent: its text is read and asked anew, and the answer, the review and the old bytes are gone', async () => {
  const door = await realDoor()
  const { ask, clean, fetch, project, run, server, sql } = door
  const form = new FormData()
  form.append('projeto_id', await project())
  for (const n of [1, 2]) form.append('arquivos', new Blob([`D-${n} é um contrato.`]), `D-${n}.txt`)
  const made = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  const { id } = (await made.json()) as { id: string }
  expect(await put(door, at(id, 'D-1.txt', '/arquivo'), 'x')).toMatchObject({ status: 409 })
  await run()
  await ask('PATCH', at(id, 'D-1.txt'), { body: { categoria: 'Outros' } })
  const path = at(id, 'D-1.txt', '/arquivo')
  expect(await put(door, path, 'D-9 é uma petição inicial.')).toMatchObject({
    status: 200,
    body: { codigo: 'D-1.txt', status: 'PENDENTE', categoria: null, revisao: null },
  })
  await run()
  expect((await ask('GET', at(id, 'D-1.txt'))).body).toMatchObject({
    status: 'CONCLUIDO',
    categoria: 'Petição Inicial',
    custo_usd_exato: '0.002400',
  })
  expect(server.calls.map(call => call.document).sort()).toEqual(['D-1', 'D-2', 'D-9'])
  await expectBooksToAdd(sql, id, server.charged())
  expect((await ask('GET', path)).body).toBe('D-9 é uma petição inicial.')
  await clean()
  expect(await sql('select from retoma.file_chunk')).toHaveLength(2)
  expect((await put(door, at(id, 'nada', '/arquivo'), 'x')).status).toBe(404)
})

test('a refused replacement of a file keeps the answer, the review and the file', async () => {
  const door = await realDoor()
  const { act, ask, execution, run, sql } = door
  const id = await execution(2)
  await run()
  await ask('PATCH', at(id, 'doc-1'), { body: { categoria: 'Outros' } })
  await ask('POST', at(id, 'doc-2', '/pular'))
  const before = (await ask('GET', at(id, 'doc-1'))).body
  // The job cannot run again: nothing of the replacement stays.
  await sql(
    `create function public.refused() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  )
  await sql(`create trigger refused before update on retoma.job for each row execute function public.refused()`)
  expect((await put(door, at(id, 'doc-1', '/arquivo'), 'D-9 novo')).status).toBe(500)
  await sql('drop trigger refused on retoma.job')
  expect((await ask('GET', at(id, 'doc-1'))).body).toEqual(before)
  expect((await ask('GET', at(id, 'doc-1', '/arquivo'))).body).toBe('D-1 é um contrato de locação.')
  // Another person cancels the execution while the file is on its way.
  await sql(`update retoma.job set state = 'waiting', finished_at = null where ref = 'doc-2'`)
  await sql(`update retoma.batch set state = 'running', finished_at = null`)
  const sent = gate()
  const form = new FormData()
  form.append('arquivo', new Blob(['D-9 novo']), 'novo.txt')
  const whole = new Response(form)
  const bytes = new Uint8Array(await whole.arrayBuffer())
  const slowly = new ReadableStream<Uint8Array>({
    start: flow => flow.enqueue(bytes.subarray(0, 40)),
    async pull(flow) {
      await sent.passed
      flow.enqueue(bytes.subarray(40))
      flow.close()
    },
  })
  const putting = door.fetch(
    new Request(`http://127.0.0.1:3000${at(id, 'doc-1', '/arquivo')}`, {
      method: 'PUT',
      body: slowly,
      headers: {
        'content-type': new Response(form).headers
          .get('content-type')!
          .replace(/boundary=.*/, `boundary=${boundaryOf(bytes)}`),
      },
      duplex: 'half',
    } as RequestInit),
  )
  expect((await act(id, 'cancelar')).body.status).toBe('CANCELADO')
  sent.open()
  expect((await putting).status).toBe(409)
  expect((await ask('GET', at(id, 'doc-1'))).body).toEqual(before)
  expect(await put(door, at(id, 'doc-1', '/arquivo'), 'D-9 novo')).toMatchObject({
    status: 409,
    body: { error: { code: 'execution_state', status: 'CANCELADO' } },
  })
  // The file of the failed request is left to the janitor, because that request may have been committed.
  expect(await sql('select from retoma.file_chunk')).toHaveLength(1)
})

test('a refused reprocessar leaves a document outside the sample', async () => {
  const { act, ask, project, run, sql } = await realDoor()
  const documentos = [1, 2].map(n => ({ codigo: `doc-${n}`, texto: `D-${n} é um contrato.` }))
  const { id } = (await ask('POST', '/execucoes', { body: { projeto_id: await project(), documentos, amostra: 1 } }))
    .body
  await run()
  const [left] = await sql<{ code: string }>('select code from classifier.document where not sampled')
  await sql(`update retoma.batch set state = 'cancelled'`)
  expect((await act(id, `documentos/${left!.code}/reprocessar`)).status).toBe(409)
  expect(await sql('select code from classifier.document where not sampled')).toEqual([left])
})

test('an answer that comes after its file was replaced is paid but not taken, and the new file is asked about', async () => {
  const { clock, execution, run, server, sql, status } = await realDoor()
  const released = gate()
  const held: Behaviour = {
    name: 'held',
    answer: async inHand => {
      await released.passed
      return ok({ categoria: 'Outros' }).answer(inHand)
    },
  }
  server.behave(held, ok())
  const id = await execution(1)
  const running = run()
  await server.called(1)
  await sql(`update classifier.document set version = 2 where run_id = ${id}`)
  released.open()
  await running
  await clock.advance(seconds(6))
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', concluidos: 1 })
  expect(await sql('select category from classifier.document')).toEqual([{ category: 'Contrato' }])
  expect(server.calls).toHaveLength(2)
  await expectBooksToAdd(sql, id, server.charged())
})

test('each category has its counts, and a search finds text without case and accents', async () => {
  const { ask, execution, run } = await realDoor()
  // A name or a text of macOS has each accent behind its letter.
  const texts = [
    'D-1 é um contrato de LOCAÇÃO'.normalize('NFD'),
    'D-2 petição inicial, 100% locacao',
    'D-3 nada',
    'D-4 contrato',
  ]
  const id = await execution(texts, { revisar_abaixo_de: 0.95 })
  await run()
  await ask('PATCH', at(id, 'doc-4'), { body: { categoria: 'Outros' } })
  const { body } = await ask('GET', `/execucoes/${id}/categorias`)
  expect(body.items).toMatchObject([
    { categoria: 'Contrato', documentos: 2, revisar: 2, aceitos: 0, corrigidos: 0, confianca_media: 0.93 },
    { categoria: 'Petição Inicial', documentos: 1, custo_usd_exato: '0.001200', moeda: 'USD' },
    { categoria: 'Outros', documentos: 1, revisar: 0, corrigidos: 1 },
  ])
  expect(body.sem_categoria).toBe(0)
  const found = async (busca: string) =>
    (await ask('GET', `/execucoes/${id}/resultados?busca=${encodeURIComponent(busca)}`)).body.items.map(
      (each: { codigo: string }) => each.codigo,
    )
  expect(await found('Locação')).toEqual(['doc-1', 'doc-2'])
  expect(await found('Locação'.normalize('NFD'))).toEqual(['doc-1', 'doc-2'])
  expect(await found('100%')).toEqual(['doc-2'])
  expect(await found('DOC-3')).toEqual(['doc-3'])
  expect(await found('_%')).toEqual([])
  expect((await ask('GET', `/execucoes/${id}/resultados?busca=x`)).status).toBe(400)
})

test('the tables take the filters of the list', async () => {
  const { ask, execution, fetch, run } = await realDoor()
  const id = await execution(['D-1 contrato', 'D-2 petição inicial', 'D-3 contrato'])
  await run()
  const csv = await ask('GET', `/execucoes/${id}/resultados.csv?categoria=contrato&busca=D-3`)
  expect(csv.body.trim().split('\r\n').slice(1)).toEqual([expect.stringMatching(/^"doc-3";"Contrato"/)])
  const xlsx = await fetch(new Request(`http://127.0.0.1:3000/execucoes/${id}/resultados.xlsx?categoria=Contrato`))
  const sheet = [...filesIn(new Uint8Array(await xlsx.arrayBuffer())).values()].join('\n')
  expect(sheet).toContain('doc-1')
  expect(sheet).not.toContain('doc-2')
  expect((await ask('GET', `/execucoes/${id}/resultados.csv?categorias=x`)).status).toBe(400)
})

test('a workbook has every result, typed, and no formula', async () => {
  const { fetch, execution, run, ask } = await realDoor()
  const id = await execution(2)
  await run()
  const hostile = "=cmd|' /C calc'!A0 <b>&\"\u0001"
  await ask('PATCH', at(id, 'doc-2'), { body: { categoria: 'Outros' } })
  const form = { projeto_id: (await ask('GET', `/execucoes/${id}`)).body.projeto_id }
  const documentos = [{ codigo: hostile, texto: 'D-7 é um contrato.' }]
  const other = (await ask('POST', '/execucoes', { body: { ...form, documentos } })).body.id
  await run()
  const sheetOf = async (of: string) => {
    const response = await fetch(new Request(`http://127.0.0.1:3000/execucoes/${of}/resultados.xlsx`))
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="resultados-${of}.xlsx"`)
    const files = filesIn(new Uint8Array(await response.arrayBuffer()))
    return [...files].flatMap(([name, text]) => (/sheet|sharedStrings/.test(name) ? [text] : [])).join('\n')
  }
  const sheet = await sheetOf(id)
  for (const text of ['codigo', 'revisado_em', 'doc-1', 'Outros', 'CORRIGIDO']) expect(sheet).toContain(text)
  expect(sheet).toContain('<v>0.0012</v>')
  const bad = await sheetOf(other)
  expect(bad).toContain('=cmd|')
  expect(bad).not.toMatch(/<f[ >]/)
  expect(bad).toContain('&lt;b&gt;&amp;')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the character that must not be there
  expect(bad).not.toMatch(/\u0001/)
})
