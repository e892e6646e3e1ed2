/** The sentence for a person about an execution, in every state: whether to wait, or which action to use. */
import { expect, test } from 'vitest'
import { minutes, seconds } from '../../src/index.ts'
import { gate, timePasses } from '../../test/support/engine.ts'
import { documentStatusOf, statusOf } from './status.ts'
import { classifierDoor } from './test/door.ts'

type Door = Awaited<ReturnType<typeof classifierDoor>>

const statusShown = async ({ ask }: Door, id: string, language = 'pt-BR') =>
  (await ask('GET', `/execucoes/${id}/status-detalhado`, { headers: { 'accept-language': language } })).body

test('a worker that nobody started, a document that is tried again, and an end are shown as such', async () => {
  const door = await classifierDoor()
  const { clock, execution, run, status } = door
  const id = await execution(['a', 'pula', 'tenta'])
  expect(await statusShown(door, id)).toMatchObject({
    status: 'PENDENTE',
    ultimo_heartbeat: null,
    ultimo_codigo_processado: null,
    diagnostico: 'nenhum worker ativo: quando quem administra o servidor iniciar um, a execução continua sozinha',
  })
  await clock.advance(seconds(7))
  expect((await status(id)).segundos_sem_progresso).toBe(7)
  await run()
  const ended = clock.now().toISOString()
  await clock.advance(seconds(2))
  expect(await statusShown(door, id)).toMatchObject({
    status: 'EM_ANDAMENTO',
    ultimo_heartbeat: ended,
    segundos_sem_progresso: 2,
    ultimo_codigo_processado: expect.stringMatching(/^(?:a|pula|tenta)$/),
    percentual: 66.6,
    diagnostico: expect.stringContaining('nenhum worker ativo'),
  })
  for (let n = 0; n < 2; n++) {
    await clock.advance(seconds(20))
    await run()
  }
  expect(await statusShown(door, id)).toMatchObject({
    status: 'CONCLUIDO',
    status_exibicao: 'Concluído com erros',
    erros: 1,
    diagnostico:
      'concluída com erros: 1 de 3 documentos classificados, 1 pulado, 1 com erro (a IA não respondeu): pressione reprocessar-erros para tentar só esse de novo',
  })
  expect((await statusShown(door, id, 'en')).diagnostico).toContain(
    'press reprocessar-erros to try only that one again',
  )
})

test('with a worker there, what waits for its next try is shown with its time', async () => {
  const door = await classifierDoor()
  const { clock, engine, execution, status } = door
  const id = await execution(['tenta'])
  await using _ = await engine.work({ queues: { classifier: 2 } })
  await timePasses(clock, async () => (await status(id)).ultimo_heartbeat !== null)
  expect((await statusShown(door, id)).diagnostico).toMatch(
    /^os documentos que faltam esperam a próxima tentativa, a primeira em \d s: aguarde, ela continua sozinha; 0 de 1 documento encerrado$/,
  )
})

test('a provider that asks to wait is shown with its words and until when', async () => {
  let down = true
  const door = await classifierDoor({ isDown: () => down })
  const { clock, execution, run, status } = door
  const id = await execution(['espera'])
  await run()
  const { diagnostico, status: now } = await statusShown(door, id)
  expect(now).toBe('EM_ANDAMENTO')
  expect(diagnostico).toMatch(
    /^o provedor openrouter pede para esperar até 09:01:\d\d \(horário de Brasília\), mais 1 min \d+ s \(rate limit\): aguarde, ela continua sozinha; quem administra o servidor pode mandar consultá-lo já$/,
  )
  down = false
  await clock.advance(minutes(3))
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO' })
})

test('a provider without credit pauses it in its own words, and continuar goes on', async () => {
  let down = true
  const door = await classifierDoor({ isDown: () => down })
  const { ask, engine, execution, act, run, status } = door
  const id = await execution(['crédito', 'crédito'])
  await run()
  const { status: now, erros, diagnostico } = await statusShown(door, id)
  expect({ now, erros }).toEqual({ now: 'PAUSADO', erros: 0 })
  expect(diagnostico).toMatch(/^pausada pelo provedor openrouter: "Insufficient credits": .* pressione continuar;/)
  await engine.transaction(tx => tx.query(`update retoma.provider set probe_error = '500: boom'`))
  expect((await statusShown(door, id)).diagnostico).toContain(
    'uma vez por minuto (na última vez: "500: boom") e, quando',
  )
  down = false
  expect((await act(id, 'continuar')).body.status).toBe('EM_ANDAMENTO')
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', concluidos: 2 })
  const { items } = (await ask('GET', `/execucoes/${id}/documentos`)).body
  expect(items.map((each: { tentativas: number }) => each.tentativas)).toEqual([1, 1])
})

test('a cost limit pauses it, and continuar allows as much again, once however many call it', async () => {
  const door = await classifierDoor()
  const { clock, engine, execution, act, project, status } = door
  const codes = Array.from({ length: 5 }, (_, n) => `custo ${n}`)
  const id = await execution(codes, await project({ limite_custo_usd: 2 }))
  await using _ = await engine.work({ queues: { classifier: 1 } })
  const becomes = (state: string) => timePasses(clock, async () => (await status(id)).status === state)
  await becomes('PAUSADO')
  const first = await statusShown(door, id)
  expect(first).toMatchObject({ status: 'PAUSADO', limite_custo_usd: '2.00', moeda: 'USD' })
  expect(first.diagnostico).toContain('pressione continuar para permitir o mesmo valor de novo')
  const answers = await Promise.all(Array.from({ length: 10 }, () => act(id, 'continuar')))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  expect((await status(id)).limite_custo_usd).toBe('4.00')
  await becomes('PAUSADO')
  expect((await act(id, 'continuar')).body.status).toBe('EM_ANDAMENTO')
  await becomes('CONCLUIDO')
  expect(await status(id)).toMatchObject({ custo_usd: '5.00', custo_usd_exato: '5.000000', limite_custo_usd: '6.00' })
})

test('what hung is named: the document, what it was doing, and where', async () => {
  const begun = gate()
  const door = await classifierDoor({ timeout: minutes(20), begun: begun.open })
  const { clock, engine, execution, status } = door
  const id = await execution(['a', 'trava "x".pdf'])
  await using worker = await engine.work({ queues: { classifier: 2 } })
  await begun.passed
  await clock.advance(minutes(5))
  await timePasses(clock, async () => (await status(id)).status === 'TRAVADO')
  const { diagnostico, travado_motivo, pode_retomar } = await statusShown(door, id)
  expect(pode_retomar).toBe(true)
  expect(travado_motivo).toMatch(
    /^nenhum documento terminou em 5 min; o que travou: "trava 'x'\.pdf" \(esperando a IA, worker [\w-]+\)$/,
  )
  expect(diagnostico).toBe(
    `travada: ${travado_motivo}: pressione retomar; o que já terminou fica (restam 3 de 3 retomadas)`,
  )
  void worker
})

test('a person who paused, and one who cancelled, are shown', async () => {
  const door = await classifierDoor()
  const { execution, act } = door
  const id = await execution(['a'])
  await act(id, 'pausar')
  expect((await statusShown(door, id)).diagnostico).toBe('pausada por uma pessoa: pressione continuar para seguir')
  await act(id, 'cancelar')
  expect((await statusShown(door, id)).diagnostico).toMatch(/^cancelada: /)
  expect(await statusShown(door, id)).toMatchObject({ percentual: 100, pulados: 1, cancelados: 1, pendentes: 0 })
})

test('the views and the streams have the same words for every state', async () => {
  const { engine } = await classifierDoor()
  const definition = async (view: string) =>
    (await engine.query<{ text: string }>(`select pg_get_viewdef($1::regclass) as text`, [`classifier.${view}`]))
      .rows[0]!.text
  const executions = await definition('execucoes_classificacao')
  for (const status of Object.values(statusOf)) expect(executions).toContain(`'${status}'`)
  const documents = await definition('resultados_classificacao')
  for (const status of Object.values(documentStatusOf)) expect(documents).toContain(`'${status}'`)
})

test.each([
  ['failed', 'ERRO', 'ERRO', { erros: 3, pulados: 0 }, 'execução encerrada após 3 retomadas; documento não processado'],
  ['cancelled', 'CANCELADO', 'PULADO', { erros: 0, pulados: 3 }, 'execução cancelada; documento não processado'],
])(
  'an execution that has ended (%s) shows no document as waiting, although its jobs end one by one after it',
  async (state, status, ofDocument, counts, message) => {
    const door = await classifierDoor()
    const id = await door.execution(['a', 'tenta b', 'tenta c', 'tenta d'])
    await door.run()
    expect(await door.status(id)).toMatchObject({ pendentes: 3, concluidos: 1 })
    await door.engine.query(`update retoma.batch set state = $1, finished_at = now()`, [state])
    const ended = { status, total: 4, pendentes: 0, processando: 0, concluidos: 1, percentual: 100, ...counts }
    expect(await door.status(id)).toMatchObject(ended)
    const { items } = (await door.ask('GET', `/execucoes/${id}/documentos?status=${ofDocument}`)).body
    expect(items).toMatchObject(Array(3).fill({ status: ofDocument, erro_mensagem: message }))
    expect((await door.ask('GET', `/execucoes/${id}/documentos?status=PENDENTE`)).body.items).toEqual([])
  },
)
