/** Fair turns of executions: a small execution beside a large one, weights of projects, priorities, and the sentence about the wait. */
import { expect, test } from 'vitest'
import { never } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

const atOnce = 4
const texts = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => `D-${from + n} é um contrato de locação.`)

/** The numbers of the documents in the order in which the AI was asked. */
const askedOf = ({ server }: Awaited<ReturnType<typeof realDoor>>) =>
  server.calls.map(call => Number(call.document.slice(2)))

test('five documents behind forty are asked in turn with them, and the forty lose no more than their share', async () => {
  const t = await realDoor({ concurrency: atOnce })
  const large = await t.execution(texts(1, 40))
  const small = await t.execution(texts(1001, 5))
  await t.run()
  const asked = askedOf(t)
  // Five of each take turns; a claim takes as many as there is room for.
  expect(asked.findLastIndex(each => each > 1000)).toBeLessThan(2 * 5 + atOnce)
  expect(asked.filter(each => each > 1000)).toHaveLength(5)
  for (const id of [large, small]) expect(await t.status(id)).toMatchObject({ status: 'CONCLUIDO', erros: 0 })
})

test('executions with the weights 1 and 3 of their projects are asked about 1 to 3', async () => {
  const t = await realDoor({ concurrency: atOnce })
  await t.execution(texts(1, 12), { peso: 1 })
  const heavy = await t.execution(texts(1001, 24), { peso: 3 })
  expect((await t.ask('GET', `/execucoes/${heavy}`)).body).toMatchObject({ peso: 3, prioridade: 4 })
  await t.run()
  const heavyFirst = askedOf(t)
    .slice(0, 24)
    .filter(each => each > 1000).length
  expect(heavyFirst).toBeGreaterThanOrEqual(18 - atOnce / 2)
  expect(heavyFirst).toBeLessThanOrEqual(18 + atOnce / 2)
})

test('an execution of a better priority comes first, and the priority of one that waits can be changed', async () => {
  const t = await realDoor({ concurrency: 1 })
  const projeto_id = await t.project()
  const make = async (from: number, more: object = {}) => {
    const documentos = texts(from, 3).map((texto, n) => ({ codigo: `doc-${n}`, texto }))
    return (await t.ask('POST', '/execucoes', { body: { projeto_id, documentos, ...more } })).body.id
  }
  const [first, second, third] = [await make(1), await make(1001), await make(2001, { prioridade: 0 })]
  const patch = (id: string, prioridade: unknown) => t.ask('PATCH', `/execucoes/${id}`, { body: { prioridade } })
  expect((await patch(first, 9)).body).toMatchObject({ id: first, prioridade: 9, pendentes: 3 })
  expect(await t.status(first)).toMatchObject({ prioridade: 9 })
  await t.run()
  expect(askedOf(t).map(each => Math.floor(each / 1000))).toEqual([2, 2, 2, 1, 1, 1, 0, 0, 0])
  expect(await patch(second, 10)).toMatchObject({ status: 400, body: { error: { field: 'prioridade' } } })
  expect(await patch(third, 1)).toMatchObject({ status: 409, body: { error: { code: 'execution_state' } } })
  expect(await patch('0', 1)).toMatchObject({ status: 404 })
})

test('a form may have the priority, and another value is refused by the name of the field', async () => {
  const t = await realDoor()
  const projeto_id = await t.project()
  const send = async (prioridade: string) => {
    const form = new FormData()
    form.set('projeto_id', projeto_id)
    form.set('prioridade', prioridade)
    form.set('arquivos', new File(['um contrato'], 'a.txt'))
    const response = await t.fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
    return { status: response.status, body: (await response.json()) as { id: string; error?: { field: string } } }
  }
  const made = await send('2')
  expect((await t.ask('GET', `/execucoes/${made.body.id}`)).body).toMatchObject({ prioridade: 2, peso: 1 })
  expect(await send('12')).toMatchObject({ status: 400, body: { error: { field: 'prioridade' } } })
})

test('the sentence says behind how many documents of other executions one waits', async () => {
  const t = await realDoor({ concurrency: 1 })
  t.server.behave(never())
  await t.execution(texts(1, 12))
  const urgent = await t.execution(texts(101, 4))
  await t.ask('PATCH', `/execucoes/${urgent}`, { body: { prioridade: 0 } })
  const small = await t.execution(texts(1001, 5))
  await t.engine.work({ queues: { classifier: 1 } })
  await t.server.called(1)
  const { body } = await t.ask('GET', `/execucoes/${small}/status-detalhado`, { headers: { 'accept-language': 'pt' } })
  // One of the four urgent documents runs; of the twelve others five take turns with these five.
  expect(body.diagnostico).toContain('espera a vez, atrás de cerca de 8 documentos de 2 outras execuções')
})
