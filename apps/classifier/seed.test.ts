/** Seed 000, word for word for fields, states, columns and routes: readers find every named part, with true values. */
import { expect, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { sqlOf } from '../../test/support/events.ts'
import { classifierDoor } from './test/door.ts'

const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/)

/** An execution with a document in every state possible at rest, and an unfinished rest. */
async function halfway() {
  const door = await classifierDoor()
  const id = await door.execution(['bom', 'falha', 'pula', 'tenta'])
  await door.run()
  return { ...door, id, sql: await sqlOf(door) }
}

async function withSql() {
  const door = await classifierDoor()
  return { ...door, sql: await sqlOf(door) }
}

test('status-detalhado has heartbeat, where it stopped, errors and the route of origin', async () => {
  const { id, status } = await halfway()
  expect(await status(id)).toMatchObject({
    id,
    status: 'EM_ANDAMENTO',
    total: 4,
    concluidos: 1,
    erros: 1,
    pulados: 1,
    pendentes: 1,
    processando: 0,
    percentual: 75,
    ultimo_heartbeat: instant,
    segundos_sem_progresso: expect.any(Number),
    ultimo_codigo_processado: expect.stringMatching(/^(?:bom|falha|pula|tenta)$/),
    tentativas_retry: 0,
    max_retries: 3,
    pode_retomar: false,
    rota_origem: '/classificador/',
    diagnostico: expect.stringContaining('once an administrator starts one'),
    travado_motivo: null,
    erros_recentes: expect.arrayContaining([
      { codigo: 'falha', erro_mensagem: 'o documento não pôde ser lido', ultimo_erro_em: instant },
    ]),
  })
})

test('the heartbeat moves with every document that is processed, and says which it was', async () => {
  const { execution, run, status, clock, sql } = await withSql()
  const codes = ['um', 'falha dois', 'pula três', 'tenta quatro', 'cinco']
  const id = await execution(codes)
  const before = await status(id)
  expect(before).toMatchObject({ status: 'PENDENTE', ultimo_heartbeat: null, ultimo_codigo_processado: null })
  // The documents run one at a time: the others are not due yet.
  await sql(`update retoma.job set run_at = 'infinity' where kind = 'classify-document'`)
  for (const codigo of codes) {
    await clock.advance(seconds(61))
    const now = clock.now().toISOString()
    await sql(`update retoma.job set run_at = '${now}' where ref = '${codigo}'`)
    await run()
    const shown = await status(id)
    expect(shown).toMatchObject({ ultimo_codigo_processado: codigo, segundos_sem_progresso: 0 })
    expect(new Date(shown.ultimo_heartbeat)).toEqual(clock.now())
  }
})

test('a code of 100 characters is kept whole wherever it is shown', async () => {
  const { ask, execution, run, status, sql } = await withSql()
  const codigo = 'ã'.repeat(100)
  const id = await execution([codigo])
  await run()
  expect(await status(id)).toMatchObject({ ultimo_codigo_processado: codigo })
  expect((await ask('GET', `/execucoes/${id}/documentos`)).body.items).toMatchObject([{ codigo }])
  expect(await sql(`select ultimo_codigo_processado as codigo from classifier.execucoes_classificacao`)).toEqual([
    { codigo },
  ])
})

test('a document has status, tentativas, erro_mensagem, erro_stack and ultimo_erro_em', async () => {
  const { ask, id } = await halfway()
  const { items } = (await ask('GET', `/execucoes/${id}/documentos`)).body
  const of = Object.fromEntries(items.map((each: { codigo: string }) => [each.codigo, each]))
  expect(of.bom).toMatchObject({ status: 'CONCLUIDO', tentativas: 1, erro_mensagem: null, ultimo_erro_em: null })
  expect(of.falha).toMatchObject({ status: 'ERRO', tentativas: 1, erro_mensagem: 'o documento não pôde ser lido' })
  expect(of.pula).toMatchObject({ status: 'PULADO' })
  expect(of.tenta).toMatchObject({ status: 'PENDENTE', tentativas: 1, ultimo_erro_em: instant })
  const { total, documentos } = (await ask('GET', `/execucoes/${id}/erros`)).body
  expect(total).toBe(1)
  expect(documentos).toMatchObject([
    {
      codigo: 'falha',
      status: 'ERRO',
      tentativas: 1,
      erro_mensagem: 'o documento não pôde ser lido',
      erro_stack: expect.stringContaining('door.ts'),
      ultimo_erro_em: instant,
    },
  ])
})

test('while one is at work it is PROCESSANDO', async () => {
  const { ask, engine, execution } = await classifierDoor()
  const id = await execution(['trava'])
  await engine.work({ queues: { classifier: 1 } })
  let status = ''
  while (status !== 'PROCESSANDO') ({ status } = (await ask('GET', `/execucoes/${id}/documentos`)).body.items[0])
})

test('a document of a cancelled execution is PULADO, with the reason, and the counts add up', async () => {
  const { ask, id, act, status } = await halfway()
  await act(id, 'cancelar')
  const { items } = (await ask('GET', `/execucoes/${id}/documentos?status=PULADO`)).body
  expect(items).toMatchObject([
    { codigo: 'pula' },
    {
      codigo: 'tenta',
      tentativas: 1,
      erro_mensagem: 'execução cancelada; documento não processado',
      ultimo_erro_em: null,
    },
  ])
  const shown = await status(id)
  expect(shown).toMatchObject({ status: 'CANCELADO', concluidos: 1, erros: 1, pulados: 2, cancelados: 1, pendentes: 0 })
  expect(shown.concluidos + shown.erros + shown.pulados).toBe(shown.total)
})

test('the stack of an error is for operators, not for viewers', async () => {
  const { ask, engine, id } = await halfway()
  const { token } = await engine.tokens.create({ user: 'vi', role: 'viewer' })
  const { documentos } = (await ask('GET', `/execucoes/${id}/erros`, { token })).body
  expect(documentos).toMatchObject([{ erro_mensagem: 'o documento não pôde ser lido', erro_stack: null }])
})

test('the view execucoes_classificacao has the columns of the seed', async () => {
  const { sql, id } = await halfway()
  const columns = 'ultimo_heartbeat, ultimo_codigo_processado, tentativas_retry, max_retries, status'
  const [row] = await sql(`select ${columns} from classifier.execucoes_classificacao where id = ${id}`)
  expect(row).toEqual({
    ultimo_heartbeat: expect.any(Date),
    ultimo_codigo_processado: expect.any(String),
    tentativas_retry: 0,
    max_retries: 3,
    status: 'EM_ANDAMENTO',
  })
})

test('the view resultados_classificacao has the columns of the seed', async () => {
  const { sql, id } = await halfway()
  const columns = 'codigo, status, tentativas, erro_mensagem, erro_stack, ultimo_erro_em'
  const rows = await sql(
    `select ${columns} from classifier.resultados_classificacao where execucao_id = ${id} order by codigo`,
  )
  expect(rows).toMatchObject([
    { codigo: 'bom', status: 'CONCLUIDO', tentativas: 1, erro_mensagem: null, erro_stack: null, ultimo_erro_em: null },
    {
      codigo: 'falha',
      status: 'ERRO',
      tentativas: 1,
      erro_mensagem: 'o documento não pôde ser lido',
      erro_stack: expect.stringContaining('door.ts'),
      ultimo_erro_em: expect.any(Date),
    },
    { codigo: 'pula', status: 'PULADO' },
    { codigo: 'tenta', status: 'PENDENTE', tentativas: 1 },
  ])
})

test('an execution that is TRAVADO says so clearly: what hung, and which action helps', async () => {
  const { id, status, nobodyWorks } = await halfway()
  await nobodyWorks()
  expect(await status(id)).toMatchObject({
    status: 'TRAVADO',
    pode_retomar: true,
    travado_motivo: expect.stringMatching(/\S/),
    diagnostico: expect.stringContaining('retomar'),
  })
})
