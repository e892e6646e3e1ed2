/** Projects over HTTP: allowed values, changes and removal. */
import { expect, test } from 'vitest'
import { classifierDoor } from './test/door.ts'

const given = { nome: 'Contratos', categorias: ['Contrato', 'Outro'] }

test('a project is made with the limits of the seed, listed, changed and removed', async () => {
  const { ask } = await classifierDoor()
  const { status, body: made } = await ask('POST', '/projetos', { body: given })
  expect(status).toBe(201)
  const instant = expect.stringMatching(/Z$/)
  const project = {
    id: made.id,
    nome: 'Contratos',
    categorias: ['Contrato', 'Outro'],
    instrucoes: '',
    modelo: null,
    max_retries_execucao: 3,
    max_retries_documento: 2,
    limite_custo_usd: null,
    peso: 1,
    revisar_abaixo_de: null,
    exemplos: 0,
    varias_categorias: false,
    ocr: true,
    ocr_max_paginas: 10,
    paginas: null,
    moeda: 'USD',
    simulado: false,
    criado_em: instant,
    atualizado_em: instant,
  }
  expect(made).toEqual(project)
  const change = { limite_custo_usd: 2.5, max_retries_documento: 8, modelo: 'a/b', peso: 3 }
  const changed = { ...project, ...change, limite_custo_usd: '2.50' }
  expect((await ask('PATCH', `/projetos/${made.id}`, { body: change })).body).toEqual(changed)
  expect((await ask('GET', `/projetos/${made.id}`)).body).toEqual(changed)
  const few = { categorias: ['só uma'], limite_custo_usd: '0.000001' }
  const other = (await ask('POST', '/projetos', { body: { ...given, ...few } })).body
  expect(other).toMatchObject(few)
  const first = (await ask('GET', '/projetos?limit=1')).body
  expect(first.items.map((each: { id: string }) => each.id)).toEqual([other.id])
  expect((await ask('GET', `/projetos?limit=1&after=${first.next}`)).body).toEqual({ items: [changed], next: null })
  expect((await ask('DELETE', `/projetos/${made.id}`)).status).toBe(204)
  for (const method of ['GET', 'DELETE']) expect((await ask(method, `/projetos/${made.id}`)).status).toBe(404)
  expect((await ask('PATCH', `/projetos/${made.id}`, { body: {} })).status).toBe(404)
})

test('a page of large projects is bounded in bytes, and the pages together list every project once', async () => {
  const { ask, engine } = await classifierDoor()
  const large = { ...given, instrucoes: 'ç'.repeat(20_000) }
  const { body: made } = await ask('POST', '/projetos', { body: large })
  await engine.query(`
    insert into classifier.project
    select p.* from generate_series(1, 99) n, classifier.project q,
      jsonb_populate_record(q, jsonb_build_object('id', q.id + n)) p`)
  const ids: string[] = []
  let pages = 0
  for (let next: string | null = ''; next !== null; pages++) {
    const { body } = await ask('GET', `/projetos?limit=500${next === '' ? '' : `&after=${next}`}`)
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(1_200_000)
    expect(body.items[0].instrucoes).toBe(large.instrucoes)
    ids.push(...body.items.map((each: { id: string }) => each.id))
    next = body.next
  }
  expect(pages).toBe(4)
  expect(ids).toEqual(Array.from({ length: 100 }, (_, n) => String(Number(made.id) + 99 - n)))
})

const bad = [
  ['peso', { peso: 0 }],
  ['peso', { peso: 101 }],
  ['nome', { nome: '' }],
  ['nome', { nome: ' \n ' }],
  ['nome', { nome: 'x'.repeat(201) }],
  ['categorias', { categorias: [] }],
  ['categorias', { categorias: ['Petição', 'PETICAO'] }],
  ['categorias', { categorias: Array.from({ length: 101 }, (_, n) => `c${n}`) }],
  ['categorias[1]', { categorias: ['a', ' '] }],
  ['categorias', { categorias: 'a,b' }],
  ['max_retries_execucao', { max_retries_execucao: -1 }],
  ['max_retries_documento', { max_retries_documento: 21 }],
  ['max_retries_documento', { max_retries_documento: 1.5 }],
  ['limite_custo_usd', { limite_custo_usd: 0 }],
  ['limite_custo_usd', { limite_custo_usd: '-1' }],
  ['limite_custo_usd', { limite_custo_usd: '0.00' }],
  ['limite_custo_usd', { limite_custo_usd: 1e-9 }],
  ['limite_custo_usd', { limite_custo_usd: '1,5' }],
  ['surpresa', { surpresa: 1 }],
] as const

test('what is wrong with a project is named', async () => {
  const { ask } = await classifierDoor()
  for (const [field, change] of bad) {
    const refused = { status: 400, body: { error: { code: 'bad_request', field } } }
    expect(await ask('POST', '/projetos', { body: { ...given, ...change } }), field).toMatchObject(refused)
  }
})

test('categories that differ in case and accents alone are named', async () => {
  const { ask } = await classifierDoor()
  const body = { ...given, categorias: ['Petição', 'Outro', 'PETICAO'] }
  const refused = await ask('POST', '/projetos', { body, headers: { 'accept-language': 'pt-BR' } })
  expect(refused.body.error.message).toBe(
    'categorias não serve: "Petição" e "PETICAO" só diferem em maiúsculas e acentos',
  )
})

test('an id that names nothing is 404, whatever its form', async () => {
  const { ask } = await classifierDoor()
  for (const id of ['0', '999', 'x', '1.5', '-1', '9'.repeat(40), '%00', '1%20or%201=1']) {
    expect((await ask('GET', `/projetos/${id}`)).status, id).toBe(404)
    expect((await ask('GET', `/execucoes/${id}`)).status, id).toBe(404)
    expect((await ask('POST', `/execucoes/${id}/retomar`)).status, id).toBe(404)
    expect((await ask('DELETE', `/execucoes/${id}`)).status, id).toBe(404)
  }
})

test('a change counts for executions made afterwards, and a project that goes leaves its executions', async () => {
  const { ask, execution, project, status } = await classifierDoor()
  const id = await project()
  const before = await execution(['a'], id)
  await ask('PATCH', `/projetos/${id}`, { body: { max_retries_execucao: 7, nome: 'Outro nome' } })
  const after = await execution(['a'], id)
  expect((await status(before)).max_retries).toBe(3)
  expect((await status(after)).max_retries).toBe(7)
  expect((await ask('GET', `/execucoes/${before}`)).body.projeto).toBe('Contratos')
  expect((await ask('DELETE', `/projetos/${id}`)).status).toBe(204)
  expect((await ask('GET', `/projetos/${id}`)).status).toBe(404)
  expect((await ask('GET', `/execucoes/${before}`)).status).toBe(200)
  const body = { projeto_id: id, documentos: [{ codigo: 'a', texto: 'b' }] }
  expect((await ask('POST', '/execucoes', { body })).status).toBe(404)
})

test('the same request with the same key makes one project', async () => {
  const { ask } = await classifierDoor()
  const send = (body: object) => ask('POST', '/projetos', { body, headers: { 'idempotency-key': 'k' } })
  const [first, second] = [await send(given), await send(given)]
  expect(second.body).toEqual(first.body)
  expect((await send({ ...given, nome: 'outro' })).status).toBe(409)
  expect((await ask('GET', '/projetos')).body.items).toHaveLength(1)
})

test('a project that goes leaves nothing in the answer that was kept for its key, and its key makes no other', async () => {
  const { ask, engine } = await classifierDoor()
  const send = (key: string) => ask('POST', '/projetos', { body: given, headers: { 'idempotency-key': key } })
  const [{ body: gone }, { body: stays }] = [await send('k'), await send('l')]
  expect((await ask('DELETE', `/projetos/${gone.id}`)).status).toBe(204)
  expect(await send('k')).toMatchObject({ status: 404, body: { error: { code: 'not_found', id: gone.id } } })
  expect((await send('l')).body).toEqual(stays)
  const { rows } = await engine.query<{ key: string; response: string }>(
    `select key, response #>> '{}' as response from retoma.idempotency order by key`,
  )
  expect(rows[0]).toEqual({ key: 'k', response: `{"id":"${gone.id}"}` })
  expect((await ask('GET', '/projetos')).body.items).toEqual([stays])
})

test('viewers read, operators act', async () => {
  const { ask, engine, execution } = await classifierDoor()
  const id = await execution(['a'])
  const { token: viewer } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const { token: operator } = await engine.tokens.create({ user: 'rui', role: 'operator' })
  const acts = [
    ['POST', '/projetos'],
    ['POST', '/execucoes'],
    ['POST', `/execucoes/${id}/pausar`],
    ['DELETE', `/execucoes/${id}`],
  ] as const
  for (const [method, path] of acts) {
    expect((await ask(method, path)).status, path).toBe(401)
    expect((await ask(method, path, { token: viewer })).status, path).toBe(403)
  }
  expect((await ask('GET', `/execucoes/${id}`, { token: viewer })).status).toBe(200)
  expect((await ask('POST', `/execucoes/${id}/pausar`, { token: operator })).body.status).toBe('PAUSADO')
})
