/** The messages for a request that does not match its schema. */
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { doorWith } from './support.ts'

const send = defineJob({ kind: 'send', run: () => 'sent' })
const job = { kind: 'send' }

test.each<[unknown, string]>([
  [undefined, 'body não serve: é obrigatório'],
  [17, 'body não serve: não tem nenhuma das formas aceitas aqui'],
  [{ input: 1 }, 'kind não serve: é obrigatório'],
  [{ kind: 5 }, 'kind não serve: deve ser um texto'],
  [{ kind: '' }, 'kind não serve: está vazio'],
  [[], 'body não serve: está vazio'],
  [{ ...job, prioridade: 1 }, 'prioridade não serve: não existe esse campo'],
  [{ ...job, priority: 10 }, 'priority não serve: deve ser 9 ou menos'],
  [{ ...job, priority: -1 }, 'priority não serve: deve ser 0 ou mais'],
  [{ ...job, priority: 1.5 }, 'priority não serve: deve ser um número inteiro'],
  [{ ...job, key_until: 'x' }, 'key_until não serve: deve ser um destes: day, final'],
  [{ ...job, ref: 'x'.repeat(501) }, 'ref não serve: deve ter no máximo 500 caracteres'],
  [{ ...job, run_at: 'amanhã' }, 'run_at não serve: deve ser um instante como 2026-01-31T12:00:00Z'],
])('%j is refused in words that a person understands', async (body, message) => {
  const { ask } = await doorWith([send])
  const asked = { ...(body === undefined ? {} : { body }), headers: { 'accept-language': 'pt-BR' } }
  expect((await ask('POST', '/api/v1/jobs', asked)).body.error.message).toBe(message)
})

test('and so is a query, in English as well', async () => {
  const { ask } = await doorWith([send])
  const said = async (query: string) => (await ask('GET', `/api/v1/jobs?${query}`)).body.error.problem
  expect(await said('limit=0')).toBe('it is 1 or more')
  expect(await said('limit=x')).toBe('it is a number')
  expect(await said('limit=501')).toBe('it is 500 or less')
  expect(await said('stat=failed')).toBe('there is no such field, did you mean "state"?')
})

test('a token that opens nothing is not reported as one that is missing, nor is a type that was not given in another language', async () => {
  const { ask, engine, fetch } = await doorWith([send])
  const inPortuguese = { 'accept-language': 'pt-BR' }
  const untyped = new Request('http://127.0.0.1:3000/api/v1/jobs', {
    method: 'POST',
    headers: inPortuguese,
    body: new TextEncoder().encode('{}'),
  })
  const { error } = (await (await fetch(untyped)).json()) as { error: { message: string } }
  expect(error.message).toBe('o corpo deve ser enviado como application/json, não como (nenhum tipo)')
  await engine.tokens.create({ user: 'ana', role: 'admin' })
  const refused = await ask('GET', '/api/v1/me', { token: 'rt_wrong', headers: inPortuguese })
  expect(refused.body.error.message).toMatch(/^é preciso um token válido/)
})
