/** Results, errors and the table for a spreadsheet; an erased execution leaves nothing anywhere. */
import { expect, test } from 'vitest'
import { days, minutes, seconds } from '../../src/index.ts'
import { gate, timePasses } from '../../test/support/engine.ts'
import { classifierDoor } from './test/door.ts'

type Door = Awaited<ReturnType<typeof classifierDoor>>

test('results are read a page at a time, and as one table', async () => {
  const { ask, execution, run } = await classifierDoor()
  const id = await execution(['a', '=cmd()', 'falha', 'pula'])
  await run()
  const { items, next } = (await ask('GET', `/execucoes/${id}/resultados?limit=1`)).body
  expect(items).toEqual([
    {
      codigo: 'a',
      categoria: 'Contrato',
      confianca: 0.9,
      justificativa: 'porque sim',
      status: 'CONCLUIDO',
      modelo: 'm',
      tokens_entrada: 10,
      tokens_saida: 2,
      custo_usd: '0.01',
      custo_usd_exato: '0.012300',
      moeda: 'USD',
      simulado: false,
      erro_mensagem: null,
      categorias: ['Contrato'],
      categorias_ia: ['Contrato'],
      categoria_ia: 'Contrato',
      revisar: false,
      revisao: null,
      revisado_por: null,
      revisado_em: null,
      ocr: false,
      ocr_paginas: null,
      ocr_confianca: null,
      ocr_segundos: null,
    },
  ])
  const rest = (await ask('GET', `/execucoes/${id}/resultados?after=${next}`)).body
  expect(rest.items.map((each: { status: string }) => each.status)).toEqual(['CONCLUIDO', 'ERRO', 'PULADO'])
  expect(rest.next).toBe(null)
  const table = await ask('GET', `/execucoes/${id}/resultados.csv`)
  expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(table.headers.get('content-disposition')).toBe(`attachment; filename="resultados-${id}.csv"`)
  const lines = table.body.split('\r\n')
  expect(lines).toHaveLength(6)
  expect(lines[2]).toBe(
    `"'=cmd()";"Contrato";"0,9";"porque sim";"CONCLUIDO";"m";"10";"2";"0,01";"false";"USD";"0,012300";"";"Contrato";"";"";"";"Contrato";"false";"";"";""`,
  )
  // A column says why a document is ERRO or PULADO.
  expect(lines.slice(3, 5).map((line: string) => line.split(';')[12])).toEqual([
    '"o documento não pôde ser lido"',
    '"documento vazio"',
  ])
})

test('a table of two thousand documents is whole', async () => {
  const { ask, execution } = await classifierDoor()
  const codes = Array.from({ length: 2000 }, (_, n) => `d${n}`)
  const id = await execution(codes)
  const lines = (await ask('GET', `/execucoes/${id}/resultados.csv`)).body.trimEnd().split('\r\n')
  expect(lines).toHaveLength(2001)
  expect(lines.slice(1).map((line: string) => line.split(';')[0])).toEqual(codes.map(code => `"${code}"`))
  const { body } = await ask('GET', `/execucoes/${id}/documentos?status=PENDENTE&limit=500&after=1500`)
  expect([body.items.length, body.items[0].codigo, body.next]).toEqual([500, 'd1500', null])
})

test('what the engine says of a document is shown in Portuguese, too', async () => {
  const begun = gate()
  const { ask, clock, engine, execution } = await classifierDoor({ begun: begun.open })
  const ends = [
    [{ type: 'crash' }, 'o processo morreu enquanto tratava este documento: said'],
    [{ type: 'crash', code: 'poison' }, 'o documento derrubou o processo vezes demais e não é mais tentado'],
    [{ type: 'orphan' }, 'o worker morreu enquanto tratava este documento'],
    [{ type: 'orphan', code: 'too_many_restarts' }, 'o worker morreu vezes demais enquanto tratava este documento'],
    [{ type: 'stalled', code: 'batch_stalled' }, 'estava sendo tratado quando a execução travou'],
    [{ type: 'hung' }, 'o worker parou de responder enquanto tratava este documento'],
  ] as const
  const id = await execution(['trava', ...ends.map((_, n) => `d${n}`)])
  for (const [n, [error]] of ends.entries())
    await engine.query(
      `update retoma.job set error = $2::jsonb
       where id = (select job_id from classifier.document where run_id = $3 and code = $1)`,
      [`d${n}`, JSON.stringify({ code: null, ...error, message: 'said' }), id],
    )
  const messages = async () =>
    (await ask('GET', `/execucoes/${id}/documentos`)).body.items.map(
      (each: { erro_mensagem: string }) => each.erro_mensagem,
    )
  expect((await messages()).slice(1)).toEqual(ends.map(([, sentence]) => sentence))
  await using _ = await engine.work({ queues: { classifier: 1 } })
  await begun.passed
  await clock.advance(minutes(2))
  await timePasses(clock, async () => (await messages())[0] !== null)
  expect((await messages())[0]).toBe('a tentativa passou do tempo que um documento tem')
})

test('an error has its message, its time, and for those who act its stack', async () => {
  const { ask, clock, engine, execution, run, status } = await classifierDoor()
  const id = await execution(['a', 'falha', 'tenta'])
  await run()
  const { body } = await ask('GET', `/execucoes/${id}/erros`)
  const at = clock.now().toISOString()
  const failed = { codigo: 'falha', status: 'ERRO', tentativas: 1, erro_mensagem: 'o documento não pôde ser lido' }
  expect(body).toMatchObject({ total: 1, next: null, documentos: [{ ...failed, ultimo_erro_em: at }] })
  expect(body.documentos[0].erro_stack).toContain('at ')
  expect((await status(id)).erros_recentes).toEqual([
    { codigo: 'tenta', erro_mensagem: 'a IA não respondeu', ultimo_erro_em: at },
    { codigo: 'falha', erro_mensagem: 'o documento não pôde ser lido', ultimo_erro_em: at },
  ])
  const { body: waiting } = await ask('GET', `/execucoes/${id}/documentos?status=PENDENTE`)
  expect(waiting.items).toMatchObject([{ codigo: 'tenta', tentativas: 1, erro_mensagem: 'a IA não respondeu' }])
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const { body: seen } = await ask('GET', `/execucoes/${id}/erros`, { token })
  expect(seen.documentos).toEqual([{ ...body.documentos[0], erro_stack: null }])
})

const tables = ['job', 'batch', 'checkpoint', 'failure', 'event', 'file', 'file_chunk'].map(name => `retoma.${name}`)
const own = ['run', 'document', 'purchase'].map(name => `classifier.${name}`)

/** The remaining rows of every table, except the tidy job. */
async function left({ engine }: Door): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of [...tables, ...own]) {
    const only = table === 'retoma.job' ? `where kind <> 'tidy-executions'` : ''
    const { rows } = await engine.query<{ n: number }>(`select count(*)::int as n from ${table} ${only}`)
    if (rows[0]!.n > 0) counts[table] = rows[0]!.n
  }
  return counts
}

test('an execution is erased when it is over, with all that is its; before that it is 409', async () => {
  const door = await classifierDoor()
  const { ask, engine, execution, fetch, act, project, run } = door
  const of = await project()
  const form = new FormData()
  form.append('projeto_id', of)
  for (const name of ['a.txt', 'falha.txt', 'tenta.txt']) form.append('arquivos', new Blob(['texto']), name)
  const made = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: form }))
  const { id } = (await made.json()) as { id: string }
  await run()
  const purchase = `
    insert into classifier.purchase (document_id, attempt, provider, cost_usd, usable, at)
    select id, 1, 'p', 1, true, now() from classifier.document where run_id = $1`
  await engine.query(purchase, [id])
  expect(await ask('DELETE', `/execucoes/${id}`)).toMatchObject({
    status: 409,
    body: { error: { code: 'execution_state', status: 'EM_ANDAMENTO' } },
  })
  await act(id, 'cancelar')
  expect((await ask('DELETE', `/projetos/${of}`)).status).toBe(204)
  expect((await ask('DELETE', `/execucoes/${id}`)).status).toBe(204)
  expect(await left(door)).toEqual({})
  expect((await engine.query('select from classifier.project')).rows).toEqual([])
  for (const path of ['', '/status-detalhado', '/erros', '/documentos', '/resultados.csv', '/eventos'])
    expect((await ask('GET', `/execucoes/${id}${path}`)).status, path).toBe(404)
  expect((await ask('DELETE', `/execucoes/${id}`)).status).toBe(404)
  const other = await execution(['b'])
  expect((await ask('GET', `/execucoes/${other}`)).status).toBe(200)
})

test('an erased execution takes the job along that submits it, due or done', async () => {
  const door = await classifierDoor()
  const { ask, clock, execution, act, run } = door
  const due = await execution(['a'])
  await act(due, 'cancelar')
  const done = await execution(['b'])
  await clock.advance(seconds(11))
  await run()
  for (const id of [due, done]) expect((await ask('DELETE', `/execucoes/${id}`)).status).toBe(204)
  expect(await left(door)).toEqual({})
})

test('what died in the middle of erasing is gone for all, and removed by the next to tidy up', async () => {
  const door = await classifierDoor()
  const { ask, clock, engine, execution, run, schedule } = door
  const id = await execution(['a'])
  await run()
  await schedule()
  await engine.query('update classifier.run set deleted_at = now() where id = $1', [id])
  expect((await ask('GET', `/execucoes/${id}`)).status).toBe(404)
  await clock.advance(minutes(61))
  await schedule()
  await run()
  expect(await left(door)).toEqual({})
})

test('an execution goes with its batch when the time is over for which work is kept', async () => {
  const door = await classifierDoor()
  const { ask, clean, clock, engine, execution, run, schedule, tick } = door
  const id = await execution(['a'])
  await run()
  await schedule()
  await clock.advance(days(91))
  await clean()
  for (let n = 0; n < 3; n++) await tick()
  expect((await ask('GET', `/execucoes/${id}`)).status).toBe(404)
  expect((await ask('GET', '/execucoes')).body.items).toEqual([])
  await schedule()
  await run()
  expect((await engine.query('select from classifier.document')).rows).toEqual([])
})
