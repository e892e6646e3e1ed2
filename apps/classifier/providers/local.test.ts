/** The classifier without a key. */
import { expect, test } from 'vitest'
import { classifyLocally } from './local.ts'

const categories = ['Petição Inicial', 'Contrato', 'Nota fiscal', 'Outros']

test.each([
  ['CONTRATO DE LOCAÇÃO. As partes deste contrato…', 'Contrato'],
  ['Seguem os contratos assinados.', 'Contrato'],
  ['peticao inicial do autor', 'Petição Inicial'],
  ['As PETIÇÕES iniciais foram juntadas.', 'Petição Inicial'],
  ['Nota Fiscal eletrônica nº 7, nota fiscal de serviço', 'Nota fiscal'],
  ['Uma nota qualquer sobre o contrato', 'Contrato'],
  ['Receita de bolo', 'Outros'],
])('"%s" is %s', (text, category) => {
  const reply = classifyLocally(text, categories)
  expect(reply.category).toBe(category)
  expect(reply.justification).toMatch(/^Classificador local: /)
  expect(reply.confidence).toBeGreaterThan(0)
  expect(reply.confidence).toBeLessThan(1)
  expect(classifyLocally(text, categories)).toEqual(reply)
})

test('where nothing tells, and there is no category for the rest, it is the first, with little confidence', () => {
  expect(classifyLocally('Receita de bolo', ['A', 'B'])).toMatchObject({ category: 'A', confidence: 0.1 })
  expect(classifyLocally('', ['!!!', '???'])).toMatchObject({ category: '!!!' })
})

test('200,000 characters and 100 categories take less than a second of a core', () => {
  const many = Array.from({ length: 100 }, (_, n) => `Categoria número ${n}`)
  const text = 'Contrato de prestação de serviços entre as partes número 42. '.repeat(3500)
  const began = process.cpuUsage()
  expect(classifyLocally(text, many).category).toBe('Categoria número 0')
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000)
})
