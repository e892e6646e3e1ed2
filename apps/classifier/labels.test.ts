/** Several categories for a document, where the project says so. */
import { expect, test } from 'vitest'
import { classifyLocally } from './providers/local.ts'
import { readReply } from './providers/reply.ts'
import { content } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

const categories = ['Contrato', 'Petição Inicial', 'Outros']
const several = { varias_categorias: true }
const written = (categorias: unknown) => JSON.stringify({ categorias, confianca: 0.8, justificativa: 'porque sim' })

test.each([
  [written(['outros', 'CONTRATO']), 'Outros', ['Contrato', 'Outros']],
  [written('Contrato'), 'Contrato', ['Contrato']],
  [written(['Contrato', 'Contrato']), 'Contrato', ['Contrato']],
  [`${written(['Contrato', 'Outros'])} ou seja ${written(['outros', 'contrato'])}`, 'Outros', ['Contrato', 'Outros']],
])('%s is read as %s, %j', (text, category, labels) => {
  expect(readReply(text, categories, true)).toMatchObject({ is: 'reply', reply: { category, labels, confidence: 0.8 } })
})

test('a category outside the list, or none at all, is no answer', () => {
  expect(readReply(written(['Contrato', 'Recibo']), categories, true)).toEqual({ is: 'strange', category: 'Recibo' })
  expect(readReply(written([]), categories, true)).toEqual({ is: 'garbage' })
  expect(readReply('nada', categories, true)).toEqual({ is: 'garbage' })
})

test('two objects with different sets of categories are no answer', () => {
  const text = `talvez ${written(['Outros'])}, não: ${written(['Contrato', 'Outros'])}`
  expect(readReply(text, categories, true)).toEqual({ is: 'several' })
})

test('without a key every category with its words in the text is one', () => {
  const reply = classifyLocally('Contrato e contrato, depois a petição inicial', categories, true)
  expect(reply).toMatchObject({ category: 'Contrato', labels: ['Contrato', 'Petição Inicial'] })
})

test('several categories are asked for, kept, counted, found, corrected and compared', async () => {
  const { act, ask, execution, run, server } = await realDoor()
  server.behave(({ document }) => content(written(document === 'D-1' ? ['Outros', 'Contrato'] : ['Contrato'])))
  const id = await execution(2, several)
  await run()
  expect(server.calls[0]!.asked[0]!.content).toContain('"categorias" tem uma ou mais')
  const items = async (query = '') => (await ask('GET', `/execucoes/${id}/resultados${query}`)).body.items
  expect(await items()).toMatchObject([
    { categoria: 'Outros', categorias: ['Contrato', 'Outros'] },
    { categoria: 'Contrato', categorias: ['Contrato'] },
  ])
  expect(await items('?categoria=Contrato')).toHaveLength(2)
  expect((await ask('GET', `/execucoes/${id}/categorias`)).body.items).toMatchObject([
    { categoria: 'Contrato', documentos: 2 },
    { categoria: 'Petição Inicial', documentos: 0 },
    { categoria: 'Outros', documentos: 1 },
  ])
  const review = (body: object) => ask('PATCH', `/execucoes/${id}/documentos/doc-1`, { body })
  expect((await review({ categorias: ['outros', 'contrato'] })).body).toMatchObject({ revisao: 'ACEITO' })
  expect((await review({ categoria: 'Outros' })).body).toMatchObject({
    revisao: 'CORRIGIDO',
    categorias: ['Outros'],
    categorias_ia: ['Contrato', 'Outros'],
  })
  expect((await act(id, 'aceitar')).body.aceitos).toBe(1)
  server.behave(() => content(written(['Contrato'])))
  const other = (await act(id, 'nova')).body.id
  await run()
  expect((await ask('GET', `/execucoes/${id}/comparar/${other}`)).body).toMatchObject({
    iguais: 1,
    diferentes: 1,
    mudancas: [{ codigo: 'doc-1', categoria_a: 'Contrato + Outros', categoria_b: 'Contrato' }],
  })
})

test('the order of the categories in the settings makes no difference between two executions', async () => {
  const { act, ask, execution, run, server } = await realDoor()
  server.behave(() => content(written(['Outros', 'Contrato'])))
  const id = await execution(1, several)
  await run()
  const other = (await act(id, 'nova', { body: { categorias: ['Outros', 'Petição Inicial', 'Contrato'] } })).body.id
  await run()
  expect((await ask('GET', `/execucoes/${id}/comparar/${other}`)).body).toMatchObject({
    iguais: 1,
    diferentes: 0,
    mudancas: [],
    confusao: [{ categoria_a: 'Contrato + Outros', categoria_b: 'Contrato + Outros', documentos: 1 }],
  })
})

test('where a document has one category, several are refused, as is neither or both', async () => {
  const { ask, execution, run } = await realDoor()
  const id = await execution(1)
  await run()
  for (const body of [{}, { categorias: ['Contrato', 'Outros'] }, { categoria: 'Outros', categorias: ['Outros'] }])
    expect(await ask('PATCH', `/execucoes/${id}/documentos/doc-1`, { body })).toMatchObject({ status: 400 })
})

test('an example has only categories that the execution has', async () => {
  const { act, ask, execution, run, server } = await realDoor()
  const id = await execution(2, { varias_categorias: true, exemplos: 5 })
  server.behave(() => content(written(['Contrato'])))
  await run()
  await ask('PATCH', `/execucoes/${id}/documentos/doc-1`, { body: { categorias: ['Petição Inicial', 'Outros'] } })
  const other = (await act(id, 'nova', { body: { categorias: ['Contrato', 'Petição Inicial'], codigos: ['doc-2'] } }))
    .body.id
  const { mensagens } = (await ask('GET', `/execucoes/${other}/prompt`)).body
  expect(mensagens[0].conteudo).toContain('"categorias":["Petição Inicial"]')
  expect(mensagens[0].conteudo).not.toContain('Outros')
})
