/** A wrong model can be corrected: a person who continues an execution may name another model. */
import { expect, test } from 'vitest'
import { type Behaviour, ok, refuses } from './test/behaviours.ts'
import { classifierDoor } from './test/door.ts'
import { realDoor } from './test/real-door.ts'

const knows = (model: string): Behaviour => ({
  name: 'by model',
  answer: inHand =>
    (inHand.model === model ? ok() : refuses(404, { message: `No endpoints found for ${inHand.model}` })).answer(
      inHand,
    ),
})

test('an execution whose model does not exist goes on with the one that continuar names', async () => {
  const { ask, server, execution, act, run, status } = await realDoor()
  server.behave(knows('certo/um'))
  const id = await execution(3, { modelo: 'errado/x' })
  await run()
  expect(await status(id)).toMatchObject({ status: 'PAUSADO', modelo: 'errado/x', concluidos: 0, erros: 0 })
  expect((await act(id, 'continuar', { body: { modelo: 'certo/um' } })).body).toMatchObject({
    status: 'EM_ANDAMENTO',
    modelo: 'certo/um',
  })
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', modelo: 'certo/um', concluidos: 3, erros: 0 })
  const { items } = (await ask('GET', `/execucoes/${id}/resultados`)).body
  expect(items.map((each: { modelo: string }) => each.modelo)).toEqual(Array(3).fill('certo/um'))
  expect((await ask('GET', `/execucoes/${id}`)).body.modelo).toBe('certo/um')
})

test('documents that are done keep the model they were asked of, and their answers are used again only for that one', async () => {
  const { ask, server, execution, act, project, run } = await realDoor()
  server.behave(({ document }) => (document === 'D-2' ? knows('b') : ok()))
  const id = await execution(['D-1 contrato', 'D-2 contrato'], { modelo: 'a' })
  await run()
  await act(id, 'continuar', { body: { modelo: 'b' } })
  await run()
  const { items } = (await ask('GET', `/execucoes/${id}/resultados`)).body
  expect(items.map((each: { modelo: string }) => each.modelo)).toEqual(['a', 'b'])
  server.behave(ok())
  const again = async (modelo: string) => {
    const calls = server.calls.length
    const documentos = [{ codigo: 'x', texto: 'D-1 contrato' }]
    await ask('POST', '/execucoes', { body: { projeto_id: await project({ modelo }), reaproveitar: true, documentos } })
    await run()
    return server.calls.length - calls
  }
  expect(await again('a')).toBe(0)
  expect(await again('b')).toBe(1)
})

test('ten who name the same model at once change it once, and the event says who', async () => {
  const door = await classifierDoor()
  const id = await door.execution(['a', 'tenta'])
  await door.run()
  await door.act(id, 'pausar')
  const change = (user: string) =>
    door.act(id, 'continuar', { body: { modelo: 'novo/x' }, headers: { 'x-user-id': user } })
  const answers = await Promise.all(Array.from({ length: 10 }, () => change('ana')))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  const { rows } = await door.engine.query(
    `select data from retoma.event where type = 'action' and data ->> 'what' = 'change model'`,
  )
  expect(rows).toEqual([{ data: { who: 'ana', what: 'change model', model: 'novo/x', model_before: 'm' } }])
  // The model also counts for the unfinished documents of a running execution.
  expect((await change('rui')).body).toMatchObject({ status: 'EM_ANDAMENTO', modelo: 'novo/x' })
})

test('retomar takes a model for one that is TRAVADO; where it is refused the model stays', async () => {
  const door = await classifierDoor()
  const id = await door.execution(['a', 'tenta'])
  await door.run()
  await door.act(id, 'pausar')
  expect(await door.act(id, 'retomar', { body: { modelo: 'novo' } })).toMatchObject({ status: 409 })
  expect((await door.status(id)).modelo).toBe('m')
  await door.act(id, 'continuar')
  await door.nobodyWorks()
  expect(await door.act(id, 'continuar', { body: { modelo: 'novo' } })).toMatchObject({ status: 409 })
  expect(await door.status(id)).toMatchObject({ status: 'TRAVADO', modelo: 'm' })
  expect((await door.act(id, 'retomar', { body: { modelo: 'novo' } })).body).toMatchObject({
    status: 'EM_ANDAMENTO',
    retomados: 1,
    modelo: 'novo',
  })
})

test.each([[''], ['  '], [7], [null], ['x'.repeat(201)], [['a']]])(
  'modelo %j is 400, and nothing changes',
  async modelo => {
    const door = await classifierDoor()
    const id = await door.execution(['a'])
    await door.act(id, 'pausar')
    expect(await door.act(id, 'continuar', { body: { modelo } })).toMatchObject({
      status: 400,
      body: { error: { field: 'modelo' } },
    })
    expect(await door.status(id)).toMatchObject({ status: 'PAUSADO', modelo: 'm' })
    expect(await door.act(id, 'continuar', { body: { model: 'x' } })).toMatchObject({ status: 400 })
  },
)
