/** An execution tells its end to an address of its own: signed, retried, and without its secrets anywhere. */
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { answerWith, webhook } from '../../test/support/webhook.ts'
import { ok } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

const documentos = [1, 2].map(n => ({ codigo: `doc-${n}`, texto: `D-${n} é um contrato.` }))
const secret = 'um segredo longo'

test('the end of an execution is posted once, signed, with its counts; a failing receiver gets it again', async () => {
  const { ask, clock, project, run, server } = await realDoor()
  server.behave(({ document }) => ok(document === 'D-2' ? { categoria: 'inexistente' } : {}))
  const receiver = await webhook()
  receiver.answers(answerWith(500), answerWith(204))
  const body = { projeto_id: await project(), documentos, webhook_url: receiver.url, webhook_segredo: secret }
  const { id } = (await ask('POST', '/execucoes', { body })).body
  await run()
  expect(receiver.posts).toHaveLength(1)
  await clock.advance(seconds(6))
  await run()
  expect(receiver.posts).toHaveLength(2)
  const [first, second] = receiver.posts
  expect(second!.body).toBe(first!.body)
  expect(second!.headers['x-retoma-delivery']).toBe(first!.headers['x-retoma-delivery'])
  const time = second!.headers['x-retoma-timestamp']
  const signature = createHmac('sha256', secret).update(`${time}.${second!.body}`).digest('hex')
  expect(second!.headers['x-retoma-signature']).toBe(`v1=${signature}`)
  expect(second!.notice).toEqual({
    event: 'execucao.concluida',
    severity: 'warning',
    sentence: `A execução ${id} (Contratos) terminou: 1 de 2 documentos classificados, 1 com erro.`,
    link: null,
    facts: {
      execucao_id: id,
      projeto_id: body.projeto_id,
      status: 'CONCLUIDO',
      total: 2,
      concluidos: 1,
      erros: 1,
      pulados: 0,
      custo_usd_exato: '0.002400',
      moeda: 'USD',
      categorias: { Contrato: 1 },
      simulado: false,
    },
  })
  await clock.advance(seconds(3600))
  await run()
  expect(receiver.posts).toHaveLength(2)
})

test('address and secret are in no answer, job, error or event', async () => {
  const { act, ask, engine, project, run, sql } = await realDoor()
  const receiver = await webhook()
  receiver.answers(answerWith(404))
  const body = { projeto_id: await project(), documentos, webhook_url: receiver.url, webhook_segredo: secret }
  const made = await ask('POST', '/execucoes', { body })
  await run()
  const again = await act(made.body.id, 'nova', { body: { webhook_url: receiver.url, webhook_segredo: secret } })
  await run()
  expect(receiver.posts).toHaveLength(2)
  const shown = [
    made.body,
    again.body,
    (await ask('GET', `/execucoes/${made.body.id}`)).body,
    (await engine.jobs.list({ kind: 'notify-execution' })).items,
    await sql('select * from retoma.event'),
    await sql('select * from retoma.failure'),
    await sql('select * from retoma.checkpoint'),
    await sql('select * from retoma.job'),
  ]
  const all = JSON.stringify(shown)
  expect(all).not.toContain('T0SECRETPATH')
  expect(all).not.toContain(secret)
})

test('what is no web address is refused by its name', async () => {
  const { ask, project } = await realDoor()
  const projeto_id = await project()
  for (const webhook_url of ['x', 'ftp://a/b', 'javascript:alert(1)'])
    expect(await ask('POST', '/execucoes', { body: { projeto_id, documentos, webhook_url } })).toMatchObject({
      status: 400,
      body: { error: { field: 'webhook_url' } },
    })
})
