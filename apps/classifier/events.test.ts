/** Follows an execution, in the words of the seed. */
import { expect, test } from 'vitest'
import type { VirtualClock } from '../../src/testing/index.ts'
import { timePasses } from '../../test/support/engine.ts'
import { classifierDoor } from './test/door.ts'

interface Heard {
  event: string
  id?: string
  data: Record<string, unknown>
}

/** Reads a stream to the end, while time passes. */
async function heard(clock: VirtualClock, response: Response): Promise<Heard[]> {
  let text: string | undefined
  void response.text().then(read => {
    text = read
  })
  await timePasses(clock, () => text !== undefined)
  return text!
    .split('\n\n')
    .filter(block => block.startsWith('event:'))
    .map(block => {
      const lines = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2)))
      return { event: lines.event, ...(lines.id ? { id: lines.id } : {}), data: JSON.parse(lines.data) }
    })
}

test('an execution is followed in its own words, and goes on from where it was heard', async () => {
  const { ask, clock, execution, fetch, act, run } = await classifierDoor()
  const id = await execution(['a', 'falha'])
  const follow = (after?: string) =>
    fetch(
      new Request(`http://127.0.0.1:3000/execucoes/${id}/eventos`, {
        headers: after === undefined ? {} : { 'last-event-id': after },
      }),
    )
  const stream = await follow()
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  await ask('PATCH', `/execucoes/${id}`, { body: { prioridade: 0 } })
  await act(id, 'pausar')
  await act(id, 'continuar')
  await run()
  const all = await heard(clock, stream)
  const states = all.filter(each => each.event === 'state').map(({ data }) => [data.from, data.to])
  expect(states).toEqual([
    [null, 'EM_ANDAMENTO'],
    ['EM_ANDAMENTO', 'PAUSADO'],
    ['PAUSADO', 'EM_ANDAMENTO'],
    ['EM_ANDAMENTO', 'CONCLUIDO'],
  ])
  expect(all.filter(each => each.event === 'action').map(({ data }) => data.what)).toEqual([
    'prioridade',
    'pausar',
    'continuar',
  ])
  expect(all.find(each => each.event === 'item')?.data).toMatchObject({ ref: 'falha', codigo: 'falha', state: 'ERRO' })
  const progress = all.filter(each => each.event === 'progress').at(-1)!
  expect(progress.data).toMatchObject({ total: 2, concluidos: 1, erros: 1, percentual: 100, pendentes: 0 })
  expect(progress.data.counts).toMatchObject({ total: 2, concluidos: 1 })
  const [heartbeat] = all
  expect(heartbeat).toMatchObject({ event: 'heartbeat', data: { segundos_sem_progresso: expect.any(Number) } })
  expect(heartbeat).not.toHaveProperty('id')

  const paused = all.find(each => each.event === 'state' && each.data.to === 'PAUSADO')!
  const later = (await heard(clock, await follow(paused.id))).filter(each => each.event === 'state')
  expect(later.map(({ data }) => data.to)).toEqual(['EM_ANDAMENTO', 'CONCLUIDO'])
  expect((await follow(all.at(-1)!.id)).status).toBe(204)
  expect((await ask('GET', `/execucoes/${id}/eventos?after=x`)).status).toBe(400)
})
