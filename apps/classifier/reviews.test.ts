/** Answers reviewed by people: corrections, the review list, acceptance of many, precision, and corrections as examples. */
import { expect, test } from 'vitest'
import { chooseExamples, promptOf } from './prompt.ts'
import { ok } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

const numberOf = (document: string) => Number(document.slice(2))

/** Ten answered documents with the confidences 0.1 to 1; `doc-9` and `doc-10` are Outros. */
async function answered(more: object = {}) {
  const door = await realDoor()
  const { ask, execution, run, server } = door
  server.behave(({ document }) => {
    const n = numberOf(document)
    return ok({ confianca: n / 10, ...(n > 8 ? { categoria: 'Outros' } : {}) })
  })
  const id = await execution(10, { modelo: 'a/um', ...more })
  await run()
  const review = (code: string, categoria: unknown, given: object = {}) =>
    ask('PATCH', `/execucoes/${id}/documentos/${code}`, { body: { categoria }, ...given })
  const codes = async (query: string) =>
    (await ask('GET', `/execucoes/${id}/documentos?${query}`)).body.items.map((each: { codigo: string }) => each.codigo)
  const { projeto_id: project } = (await ask('GET', `/execucoes/${id}`)).body
  return { ...door, id, review, codes, of: project as string }
}

test('a correction has its person and its time, and the answer of the AI stays beside it', async () => {
  const { ask, clock, engine, id, review } = await answered()
  const { token } = await engine.tokens.create({ user: 'ana', role: 'operator' })
  const corrected = {
    codigo: 'doc-1',
    status: 'CONCLUIDO',
    categoria: 'Petição Inicial',
    categoria_ia: 'Contrato',
    confianca: 0.1,
    revisao: 'CORRIGIDO',
    revisado_por: 'ana',
    revisado_em: clock.now().toISOString(),
  }
  expect(await review('doc-1', 'peticao inicial', { token })).toMatchObject({ status: 200, body: corrected })
  const { items } = (await ask('GET', `/execucoes/${id}/resultados?limit=1`, { token })).body
  expect(items).toMatchObject([corrected])
  const lines = (await ask('GET', `/execucoes/${id}/resultados.csv`, { token })).body.split('\r\n')
  expect(lines[0]).toMatch(
    /;erro_mensagem;categoria_ia;revisao;revisado_por;revisado_em;categorias;ocr;ocr_paginas;ocr_confianca;ocr_segundos$/,
  )
  expect(lines[1]).toContain('"Petição Inicial"')
  expect(lines[1]).toContain('"Contrato";"CORRIGIDO";"ana"')
  expect(await review('doc-1', null, { token })).toMatchObject({
    body: { categoria: 'Contrato', revisao: null, revisado_por: null, revisado_em: null },
  })
  expect(await review('doc-1', 'Recibo', { token })).toMatchObject({
    status: 400,
    body: { error: { field: 'categoria' } },
  })
  expect((await review('nada', 'Outros', { token })).status).toBe(404)
  const { token: reader } = await engine.tokens.create({ user: 'vi', role: 'viewer' })
  expect((await review('doc-1', 'Outros', { token: reader })).status).toBe(403)
})

test('a document that waits cannot be reviewed yet; one that failed can be classified by hand', async () => {
  const { ask, execution, run, server } = await realDoor()
  server.behave(ok({ categoria: 'inexistente' }))
  const id = await execution(1)
  const review = () => ask('PATCH', `/execucoes/${id}/documentos/doc-1`, { body: { categoria: 'Contrato' } })
  expect(await review()).toMatchObject({ status: 409, body: { error: { code: 'document_state', status: 'PENDENTE' } } })
  await run()
  expect((await review()).body).toMatchObject({
    status: 'ERRO',
    categoria: 'Contrato',
    categoria_ia: null,
    revisao: 'CORRIGIDO',
  })
})

test('answers below the threshold of the project are the review list, until a person has seen them', async () => {
  const { act, ask, codes, id, review } = await answered({ revisar_abaixo_de: 0.4 })
  expect(await codes('revisar=true')).toEqual(['doc-1', 'doc-2', 'doc-3'])
  await review('doc-1', 'Contrato')
  await review('doc-2', 'Outros')
  expect(await codes('revisar=true')).toEqual(['doc-3'])
  expect(await codes('revisao=ACEITO')).toEqual(['doc-1'])
  expect(await codes('revisao=CORRIGIDO')).toEqual(['doc-2'])
  expect(await codes('categoria=Outros&revisar=false')).toEqual(['doc-2', 'doc-9', 'doc-10'])
  expect(await codes('categoria=OUTROS&revisar=false')).toEqual(['doc-2', 'doc-9', 'doc-10'])
  expect(await codes('confianca_abaixo_de=0.3')).toEqual(['doc-1', 'doc-2'])
  expect((await ask('GET', `/execucoes/${id}/documentos?revisar=talvez`)).status).toBe(400)
  expect((await act(id, 'aceitar', { body: { codigos: ['doc-3'] } })).body).toMatchObject({ id, aceitos: 1 })
  expect(await codes('revisar=true')).toEqual([])
})

test('answers are accepted in bulk, each once, and a correction is not accepted over', async () => {
  const { act, codes, id, review } = await answered()
  await review('doc-1', 'Outros')
  expect((await act(id, 'aceitar', { body: { confianca_minima: 0.8, categoria: 'contrato' } })).body.aceitos).toBe(1)
  expect(await codes('revisao=ACEITO')).toEqual(['doc-8'])
  const all = await Promise.all([act(id, 'aceitar'), act(id, 'aceitar')])
  expect(all.reduce((sum, each) => sum + each.body.aceitos, 0)).toBe(8)
  expect(await codes('revisao=CORRIGIDO')).toEqual(['doc-1'])
  expect(await act(id, 'aceitar', { body: { categoria: 'Recibo' } })).toMatchObject({ status: 400 })
  expect((await act('999', 'aceitar')).status).toBe(404)
})

test('precision is measured from reviews, by model and category of the answer', async () => {
  const { act, ask, id, of, review, run, server } = await answered()
  for (const n of [1, 2]) await review(`doc-${n}`, 'Outros')
  await review('doc-9', 'Contrato')
  await act(id, 'aceitar')
  server.behave(ok())
  const second = (await act(id, 'nova', { body: { modelo: 'b/dois', codigos: ['doc-1', 'doc-2', 'doc-3'] } })).body.id
  await run()
  await ask('PATCH', `/execucoes/${second}/documentos/doc-1`, { body: { categoria: 'Outros' } })
  await act(second, 'aceitar', { body: { codigos: ['doc-3'] } })
  const { body } = await ask('GET', `/projetos/${of}/precisao`)
  expect(body.modelos).toEqual([
    {
      modelo: 'a/um',
      revisados: 10,
      corretos: 7,
      precisao: 70,
      categorias: [
        { categoria: 'Contrato', revisados: 8, corretos: 6, precisao: 75 },
        { categoria: 'Outros', revisados: 2, corretos: 1, precisao: 50 },
      ],
    },
    {
      modelo: 'b/dois',
      revisados: 2,
      corretos: 1,
      precisao: 50,
      categorias: [{ categoria: 'Contrato', revisados: 2, corretos: 1, precisao: 50 }],
    },
  ])
  expect((await ask('GET', `/projetos/${of}/precisao?execucao_id=${second}`)).body.modelos).toHaveLength(1)
  expect((await ask('GET', `/projetos/999/precisao`)).status).toBe(404)
})

test('corrections are examples in the next question, as many as the project says, and never of the document itself', async () => {
  const { act, ask, fetch, id, of, review, run, server } = await answered({ exemplos: 2 })
  await review('doc-1', 'Outros')
  await review('doc-2', 'Petição Inicial')
  await review('doc-3', 'Outros')
  const before = server.calls.length
  // A document sent as a file is an example too.
  const form = new FormData()
  form.append('projeto_id', of)
  form.append('arquivos', new Blob(['D-77 é um arquivo.']), 'D-77.txt')
  const sent = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  const file = ((await sent.json()) as { id: string }).id
  await run()
  const [question] = server.calls.slice(before)
  const shown = (content: string) => [...content.matchAll(/^\{"texto":"(D-\d+) /gm)].map(([, code]) => code)
  expect(shown(question!.asked[0]!.content)).toEqual(['D-3', 'D-2'])
  await ask('PATCH', `/execucoes/${file}/documentos/D-77.txt`, { body: { categoria: 'Petição Inicial' } })
  const more = (await act(id, 'nova', { body: { codigos: ['doc-3', 'doc-4'] } })).body.id
  const questionOf = async (code: string) => (await ask('GET', `/execucoes/${more}/prompt?codigo=${code}`)).body
  expect(await questionOf('doc-3')).toMatchObject({ exemplos: 1 })
  expect(await questionOf('doc-4')).toMatchObject({ exemplos: 2 })
  await run()
  const again = server.calls.slice(before + 1).map(call => [call.document, shown(call.asked[0]!.content)])
  expect(Object.fromEntries(again)).toEqual({ 'D-3': ['D-77'], 'D-4': ['D-77', 'D-3'] })
})

test('examples are bounded in number and length, and even over the categories', () => {
  const given = Array.from({ length: 300 }, (_, n) => ({
    hash: String(n),
    text: `${n} ${'x'.repeat(5000)}`,
    category: n < 290 ? 'A' : 'B',
  }))
  const chosen = chooseExamples(given, 20)
  expect(chosen).toHaveLength(20)
  expect(chosen.filter(each => each.category === 'B')).toHaveLength(10)
  const [rules] = promptOf({ categories: ['A', 'B'], instructions: '', model: null, examples: chosen }, 't')
  expect(rules!.content.length).toBeLessThan(15_000)
})
