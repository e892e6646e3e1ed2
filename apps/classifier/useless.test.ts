/** Useless text of the AI: stored for operators, hidden from others, erased with the execution. */
import { expect, test } from 'vitest'
import { content, eachDocument, garbage, ok } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

test.each([
  ['paid for', content('Não sei dizer, talvez um contrato.'), 'Não sei dizer, talvez um contrato.'],
  ['a category that is none', ok({ categoria: 'Sentença', justificativa: 'x' }), '"categoria":"Sentença"'],
  ['no JSON at all', garbage('<html>Bad gateway</html>'), '<html>Bad gateway</html>'],
])(
  'an answer of no use (%s) is kept for operators, hidden from viewers, erased with its execution',
  async (_, behaviour, written) => {
    const { server, ask, engine, execution, run, sql } = await realDoor()
    server.behave(behaviour)
    const id = await execution(1, { max_retries_documento: 0 })
    await run()
    const { body } = await ask('GET', `/execucoes/${id}/erros`)
    expect(body.documentos).toMatchObject([
      { codigo: 'doc-1', status: 'ERRO', resposta_ia: expect.stringContaining(written) },
    ])
    const { token } = await engine.tokens.create({ user: 'vera', role: 'viewer' })
    const seen = await ask('GET', `/execucoes/${id}/erros`, { token })
    expect(seen.body.documentos).toMatchObject([{ status: 'ERRO', resposta_ia: null }])
    expect(JSON.stringify([(await ask('GET', `/execucoes/${id}/documentos`, { token })).body])).not.toContain(
      'resposta_ia',
    )
    const { token: operator } = await engine.tokens.create({ user: 'olga', role: 'operator' })
    expect((await ask('GET', `/execucoes/${id}/erros`, { token: operator })).body).toEqual(body)
    expect((await ask('DELETE', `/execucoes/${id}`, { token: operator })).status).toBe(204)
    expect(await sql(`select from classifier.document`)).toEqual([])
    expect(await sql(`select from retoma.checkpoint`)).toEqual([])
  },
)

test('what is kept is bounded, and holds no key', async () => {
  const { server, ask, execution, run } = await realDoor()
  server.behave(content(`${server.key} Authorization: Bearer abcdef123456 sk-or-abcdef123456 ${'x'.repeat(10_000)}`))
  const id = await execution(1, { max_retries_documento: 0 })
  await run()
  const { resposta_ia: written } = (await ask('GET', `/execucoes/${id}/erros`)).body.documentos[0]
  expect(written).toMatch(/^\[…\] Authorization: Bearer (\[…\]|…) \[…\] x+…$/)
  expect(written).toHaveLength(4000)
})

test('once a document is answered, what was of no use before is forgotten', async () => {
  const { server, ask, execution, act, run, sql } = await realDoor()
  server.behave(eachDocument(content('Não sei.'), ok()))
  const id = await execution(1, { max_retries_documento: 0 })
  await run()
  expect((await ask('GET', `/execucoes/${id}/erros`)).body.documentos[0].resposta_ia).toBe('Não sei.')
  await act(id, 'reprocessar-erros')
  await run()
  expect(await sql(`select useless_answer, category from classifier.document`)).toEqual([
    { useless_answer: null, category: 'Contrato' },
  ])
})
