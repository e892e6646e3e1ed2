/** The contract's table of actions and states, each cell over HTTP; also repeated, and ten at once. */
import { minutes, seconds } from 'retoma'
import { expect, test } from 'vitest'
import type { Status } from './status.ts'
import { classifierDoor } from './test/door.ts'

type Door = Awaited<ReturnType<typeof classifierDoor>>

/** Creates `many` executions in the state; if possible with a document in error (`falha`) and an unfinished document. */
const states: Record<Status, (door: Door, many: number) => Promise<string[]>> = {
  PENDENTE: ({ executions }, many) => executions(many, ['a', 'b']),
  async EM_ANDAMENTO({ executions, run }, many) {
    const ids = await executions(many, ['a', 'falha', 'tenta'])
    await run()
    return ids
  },
  async PAUSADO(door, many) {
    const ids = await states.EM_ANDAMENTO(door, many)
    for (const id of ids) await door.act(id, 'pausar')
    return ids
  },
  async TRAVADO(door, many) {
    const ids = await states.EM_ANDAMENTO(door, many)
    await door.nobodyWorks()
    return ids
  },
  async CONCLUIDO({ executions, run }, many) {
    const ids = await executions(many, ['a', 'falha'])
    await run()
    return ids
  },
  async ERRO({ executions, run, nobodyWorks, project }, many) {
    const ids = await executions(many, ['a', 'falha', 'tenta'], await project({ max_retries_execucao: 0 }))
    await run()
    await nobodyWorks()
    return ids
  },
  async CANCELADO(door, many) {
    const ids = await states.EM_ANDAMENTO(door, many)
    for (const id of ids) await door.act(id, 'cancelar')
    return ids
  },
}

const actions = ['retomar', 'reprocessar-erros', 'pausar', 'continuar', 'cancelar'] as const
type Action = (typeof actions)[number]

/** The next status with the answer, or the code of the 409. */
type Cell = [Status, object?] | string

const unchanged = (status: Status): Cell => [status, { retomados: 0, tentativas_retry: 0 }]
const again = (status: Status, n: number, resumes = 0): Cell => [
  status,
  { reprocessados: n, tentativas_retry: resumes },
]

const table: Record<Status, Record<Action, Cell>> = {
  PENDENTE: {
    retomar: unchanged('PENDENTE'),
    'reprocessar-erros': again('PENDENTE', 0),
    pausar: ['PAUSADO'],
    continuar: ['PENDENTE'],
    cancelar: ['CANCELADO'],
  },
  EM_ANDAMENTO: {
    retomar: unchanged('EM_ANDAMENTO'),
    'reprocessar-erros': again('EM_ANDAMENTO', 1),
    pausar: ['PAUSADO'],
    continuar: ['EM_ANDAMENTO'],
    cancelar: ['CANCELADO'],
  },
  PAUSADO: {
    retomar: 'execution_paused',
    'reprocessar-erros': again('PAUSADO', 1),
    pausar: ['PAUSADO'],
    continuar: ['EM_ANDAMENTO'],
    cancelar: ['CANCELADO'],
  },
  TRAVADO: {
    retomar: ['EM_ANDAMENTO', { retomados: 1, tentativas_retry: 1 }],
    'reprocessar-erros': again('EM_ANDAMENTO', 1, 1),
    pausar: 'execution_state',
    continuar: 'execution_state',
    cancelar: ['CANCELADO'],
  },
  CONCLUIDO: {
    retomar: unchanged('CONCLUIDO'),
    'reprocessar-erros': again('EM_ANDAMENTO', 1),
    pausar: 'execution_state',
    continuar: 'execution_state',
    cancelar: 'execution_state',
  },
  ERRO: {
    retomar: 'resumes_spent',
    'reprocessar-erros': again('EM_ANDAMENTO', 2),
    pausar: 'execution_state',
    continuar: 'execution_state',
    cancelar: 'execution_state',
  },
  CANCELADO: {
    retomar: 'execution_state',
    'reprocessar-erros': 'execution_state',
    pausar: 'execution_state',
    continuar: 'execution_state',
    cancelar: ['CANCELADO'],
  },
}

test.each(Object.keys(table) as Status[])('the actions on %s do what the contract says, once and twice', async from => {
  const door = await classifierDoor()
  const ids = await states[from](door, actions.length)
  for (const [at, action] of actions.entries()) {
    const id = ids[at]!
    expect((await door.status(id)).status, action).toBe(from)
    const cell = table[from][action]
    if (typeof cell === 'string') {
      for (const _ of ['once', 'twice'])
        expect(await door.act(id, action), action).toMatchObject({ status: 409, body: { error: { code: cell } } })
      expect((await door.status(id)).status, action).toBe(from)
      continue
    }
    const [to, answer = {}] = cell
    expect(await door.act(id, action), action).toMatchObject({ status: 200, body: { id, status: to, ...answer } })
    const { status, tentativas_retry } = await door.status(id)
    expect(status, action).toBe(to)
    // The second action applies to the new status.
    const next = table[to][action]
    const second = await door.act(id, action)
    const none = action === 'retomar' ? { retomados: 0 } : action === 'reprocessar-erros' ? { reprocessados: 0 } : {}
    if (typeof next === 'string') expect(second, action).toMatchObject({ status: 409, body: { error: { code: next } } })
    else expect(second, action).toMatchObject({ status: 200, body: { status: next[0], tentativas_retry, ...none } })
  }
})

const together = [
  ['TRAVADO', 'retomar', 'retomados', 1],
  ['TRAVADO', 'reprocessar-erros', 'reprocessados', 1],
  ['CONCLUIDO', 'reprocessar-erros', 'reprocessados', 1],
  ['ERRO', 'reprocessar-erros', 'reprocessados', 2],
] as const

test('an action of ten callers at once happens once', async () => {
  const door = await classifierDoor()
  for (const [from, action, field, times] of together) {
    const [id] = await states[from](door, 1)
    const answers = await Promise.all(Array.from({ length: 10 }, () => door.act(id!, action)))
    const what = `${from} ${action}`
    expect(
      answers.map(({ status }) => status),
      what,
    ).toEqual(Array(10).fill(200))
    expect(
      answers.map(({ body }) => body.status),
      what,
    ).toEqual(Array(10).fill('EM_ANDAMENTO'))
    expect(
      answers.reduce((sum, { body }) => sum + body[field], 0),
      what,
    ).toBe(times)
    expect((await door.status(id!)).tentativas_retry, what).toBe(from === 'TRAVADO' ? 1 : 0)
  }
})

test('refusals are in Portuguese, and name the action that helps', async () => {
  const door = await classifierDoor()
  const [id] = await states.PAUSADO(door, 1)
  const { body } = await door.act(id!, 'retomar', { headers: { 'accept-language': 'pt-BR' } })
  expect(body.error.message).toBe(`a execução ${id} está pausada; use continuar para que ela siga`)
  const [spent] = await states.ERRO(door, 1)
  const refused = await door.act(spent!, 'retomar', { headers: { 'accept-language': 'pt-BR' } })
  expect(refused.body.error.message).toBe(
    `a execução ${spent} falhou depois de 0 retomadas; reprocesse os itens com erro`,
  )
})

test('three resumes, then ERRO by itself; documents not processed say so, and reprocessar-erros leads out', async () => {
  let down = true
  const { ask, execution, act, status, nobodyWorks, run } = await classifierDoor({ isDown: () => down })
  const id = await execution(['a', 'tenta 1', 'tenta 2'])
  await run()
  for (const n of [1, 2, 3]) {
    await nobodyWorks()
    expect(await status(id)).toMatchObject({ status: 'TRAVADO', pode_retomar: true, tentativas_retry: n - 1 })
    expect((await act(id, 'retomar')).body).toMatchObject({ status: 'EM_ANDAMENTO', tentativas_retry: n })
  }
  await nobodyWorks()
  expect(await status(id)).toMatchObject({ status: 'ERRO', pode_retomar: false, tentativas_retry: 3 })
  const { body: errors } = await ask('GET', `/execucoes/${id}/erros`)
  const message = 'execução encerrada após 3 retomadas; documento não processado'
  expect(errors.documentos.map((each: { erro_mensagem: string }) => each.erro_mensagem)).toEqual(
    Array(errors.total).fill(message),
  )
  expect((await act(id, 'reprocessar-erros')).body).toMatchObject({ status: 'EM_ANDAMENTO', tentativas_retry: 0 })
  down = false
  await run()
  expect(await status(id)).toMatchObject({ status: 'CONCLUIDO', concluidos: 3, erros: 0 })
  const { body: documents } = await ask('GET', `/execucoes/${id}/documentos`)
  expect(documents.items.map((each: { tentativas: number }) => each.tentativas)).toEqual([1, 2, 2])
})

test('all of it switched off for six minutes: EM_ANDAMENTO after the start, and TRAVADO only five minutes after that', async () => {
  const { execution, run, tick, clock, status, nobodyWorks } = await classifierDoor()
  const id = await execution(['a', 'tenta'])
  await run()
  await tick()
  await clock.advance(minutes(6))
  await tick()
  expect(await status(id)).toMatchObject({ status: 'EM_ANDAMENTO', concluidos: 1, pendentes: 1, travado_motivo: null })
  await clock.advance(seconds(9))
  await tick()
  expect((await status(id)).status).toBe('EM_ANDAMENTO')
  await nobodyWorks()
  expect((await status(id)).status).toBe('TRAVADO')
})

test('what a person had go on is EM_ANDAMENTO, though nothing of it has begun', async () => {
  const { execution, nobodyWorks, act, project, status } = await classifierDoor()
  const of = await project({ max_retries_execucao: 1 })
  const [paused, stuck] = [await execution(['a'], of), await execution(['b'], of)]
  await act(paused, 'pausar')
  expect((await act(paused, 'continuar')).body.status).toBe('EM_ANDAMENTO')
  expect((await status(paused)).status).toBe('EM_ANDAMENTO')
  await nobodyWorks()
  expect((await status(stuck)).status).toBe('TRAVADO')
  expect((await act(stuck, 'retomar')).body).toMatchObject({ status: 'EM_ANDAMENTO', retomados: 1 })
  expect((await status(stuck)).status).toBe('EM_ANDAMENTO')
  await nobodyWorks()
  const diagnosis = expect.stringMatching(/^ended after 1 resume with 1 document in error: press reprocessar-erros /)
  expect(await status(stuck)).toMatchObject({ status: 'ERRO', erros: 1, diagnostico: diagnosis })
  expect((await act(stuck, 'reprocessar-erros')).body).toMatchObject({ status: 'EM_ANDAMENTO', reprocessados: 1 })
  expect((await status(stuck)).status).toBe('EM_ANDAMENTO')
})
