/** An execution tells its end to an address of its own: signed, retried, and without its secrets anywhere. */
import { createHmac } from 'node:crypto'
import dns from 'node:dns'
import { expect, test, vi } from 'vitest'
import { seconds } from '../../src/index.ts'
import { answerWith, webhook } from '../../test/support/webhook.ts'
import { allowedAddresses } from './link-local.ts'
import { ok, refuses } from './test/behaviours.ts'
import { realDoor } from './test/real-door.ts'

const documentOf = (n: number) => ({ codigo: `doc-${n}`, texto: `D-${n} é um contrato.` })
const documentos = [1, 2].map(documentOf)
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

test('an execution that stalls, is paused by a provider, ends with ERRO or is cancelled tells its webhook once each, within a minute', async () => {
  const { act, ask, clock, project, run, schedule, server, engine, sql } = await realDoor()
  await schedule()
  const receiver = await webhook()
  const make = async () => {
    const body = { projeto_id: await project(), documentos, webhook_url: receiver.url, webhook_segredo: secret }
    return (await ask('POST', '/execucoes', { body })).body.id
  }
  /** The next occurrence of the schedule, and the jobs that follow. */
  const aMinute = async () => {
    await clock.advance(seconds(61))
    await schedule()
    await run()
  }
  const first = await make()
  await act(first, 'cancelar')
  await aMinute()
  expect(receiver.posts.at(-1)!.notice).toMatchObject({
    event: 'execucao.cancelada',
    severity: 'warning',
    facts: { execucao_id: first, status: 'CANCELADO', total: 2, pulados: 2 },
  })
  await aMinute()
  expect(receiver.events()).toEqual(['execucao.cancelada'])
  server.behave(refuses(402))
  const second = await make()
  await run()
  await aMinute()
  expect(receiver.events()).toEqual(['execucao.cancelada', 'execucao.pausada'])
  // A person who pauses an execution needs no message.
  await sql(`update retoma.batch set reason = '{"code":"person"}' where state = 'paused'`)
  await sql(`update classifier.run set webhook_told = null where id = ${second}`)
  await aMinute()
  for (const [state, event] of [
    ['stalled', 'execucao.travada'],
    ['failed', 'execucao.erro'],
  ] as const) {
    await sql(`update retoma.batch set state = '${state}', reason = null, finished_at = ${state === 'failed' ? 'now()' : 'null'}
       where state in ('paused', 'stalled')`)
    await aMinute()
    expect(receiver.events().at(-1)).toBe(event)
  }
  expect(receiver.posts).toHaveLength(4)
  expect(new Set((await engine.jobs.list({ kind: 'notify-execution' })).items.map(({ queue }) => queue))).toEqual(
    new Set(['classifier-notices']),
  )
})

test('a second pause within a minute of the first tells its webhook, too', async () => {
  const { act, ask, clock, project, run, schedule } = await realDoor({ concurrency: 1 })
  await schedule()
  const receiver = await webhook()
  const body = { projeto_id: await project({ limite_custo_usd: '0.001' }), webhook_url: receiver.url }
  const documents = { documentos: [1, 2, 3].map(documentOf) }
  const { id } = (await ask('POST', '/execucoes', { body: { ...body, ...documents } })).body
  const aMinute = async () => {
    await clock.advance(seconds(61))
    await schedule()
    await run()
  }
  await run()
  await aMinute()
  expect(receiver.events()).toEqual(['execucao.pausada'])
  expect((await act(id, 'continuar')).status).toBe(200)
  await run()
  await aMinute()
  expect(receiver.events()).toEqual(['execucao.pausada', 'execucao.pausada'])
  await aMinute()
  expect(receiver.posts).toHaveLength(2)
})

test('an execution tells its end though the process that made it died before it noted the batch', async () => {
  const { ask, clock, project, run, sql } = await realDoor()
  const receiver = await webhook()
  const body = { projeto_id: await project(), documentos, webhook_url: receiver.url }
  const { id } = (await ask('POST', '/execucoes', { body })).body
  await sql(`update classifier.run set batch_id = null where id = ${id}`)
  await sql(`update classifier.document set job_id = null where run_id = ${id}`)
  await run()
  expect(receiver.posts).toEqual([])
  await clock.advance(seconds(10))
  await run()
  await clock.advance(seconds(10))
  await run()
  expect(receiver.posts).toHaveLength(1)
  expect(receiver.posts[0]!.notice).toMatchObject({
    event: 'execucao.concluida',
    facts: { execucao_id: id, total: 2, concluidos: 2 },
  })
})

test('a notice goes to the address that was checked: the name of the receiver is resolved once', async () => {
  const { ask, project, run } = await realDoor()
  const receiver = await webhook()
  const again = vi.spyOn(dns, 'lookup').mockImplementation(() => {
    throw new Error('resolved again')
  })
  const webhook_url = receiver.url.replace('127.0.0.1', 'localhost')
  await ask('POST', '/execucoes', { body: { projeto_id: await project(), documentos, webhook_url } })
  await run()
  expect(receiver.events()).toEqual(['execucao.concluida'])
  expect(again).not.toHaveBeenCalled()
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
  const { ask, fetch, project } = await realDoor()
  const projeto_id = await project()
  const inside = [
    'http://169.254.169.254/latest',
    'http://[fe80::1]/',
    'http://metadata.google.internal/',
    'http://2852039166/',
  ]
  for (const webhook_url of ['x', 'ftp://a/b', 'javascript:alert(1)', ...inside])
    expect(await ask('POST', '/execucoes', { body: { projeto_id, documentos, webhook_url } })).toMatchObject({
      status: 400,
      body: { error: { field: 'webhook_url' } },
    })
  const webhook_url = 'https://exemplo.com.br/'
  const form = new FormData()
  form.append('projeto_id', projeto_id)
  form.append('webhook_url', webhook_url)
  form.append('webhook_segredo', 's'.repeat(201))
  form.append('arquivos', new Blob(['um contrato']), 'a.txt')
  const long = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  expect(long.status).toBe(400)
  expect(await long.json()).toMatchObject({ error: { field: 'webhook_segredo' } })
})

test('a webhook whose name leads to a link-local address gets no message', async () => {
  for (const host of ['169.254.169.254', '[::ffff:a9fe:a9fe]', 'metadata.google.internal'])
    expect(await allowedAddresses(host)).toBeUndefined()
  expect((await allowedAddresses('localhost'))!.length).toBeGreaterThan(0)
  const { ask, engine, project, run, sql } = await realDoor()
  const body = { projeto_id: await project(), documentos, webhook_url: 'https://exemplo.com.br/' }
  const { id } = (await ask('POST', '/execucoes', { body })).body
  await sql(`update classifier.run set webhook_url = 'http://169.254.169.254/x' where id = ${id}`)
  await run()
  const [job] = (await engine.jobs.list({ kind: 'notify-execution' })).items
  expect(job).toMatchObject({ state: 'failed', failures: 1, error: { code: 'webhook_refused' } })
})
