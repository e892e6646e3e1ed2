/** The whole system as run by `up`, without a key. */
import { expect, test } from 'vitest'
import { doorWith } from '../../test/http/support.ts'
import { classifier } from './index.ts'

test('without a key the local classifier answers, and every answer says that it is simulated', async () => {
  const openRouter = { key: undefined, model: undefined, baseUrl: 'http://127.0.0.1:1/' }
  const { routes, attach, jobs, batches, schedules, limits } = classifier({ openRouter })
  const { ask, engine, run } = await doorWith([...jobs!], {
    batches: [...batches!],
    schedules: [...schedules!],
    limits: limits!,
    app: { routes: routes! },
  })
  attach!(engine)
  const project = { nome: 'Peças', categorias: ['Contrato', 'Petição'] }
  const { id: projeto_id } = (await ask('POST', '/projetos', { body: project })).body
  const documentos = [
    { codigo: 'a', texto: 'CONTRATO de locação: este contrato é feito entre as partes' },
    { codigo: 'b', texto: 'peticao inicial' },
    { codigo: 'c', texto: ' \n ' },
  ]
  const made = (await ask('POST', '/execucoes', { body: { projeto_id, documentos } })).body
  expect(made).toMatchObject({ total: 3, simulado: true })
  await run()
  const at = (path: string) => ask('GET', `/execucoes/${made.id}${path}`)
  expect((await at('')).body).toMatchObject({ status: 'CONCLUIDO', simulado: true, custo_usd: '0.00' })
  expect((await at('/status-detalhado')).body).toMatchObject({ concluidos: 2, pulados: 1, simulado: true })
  const { items } = (await at('/resultados')).body
  expect(items.map((each: { categoria: string }) => each.categoria)).toEqual(['Contrato', 'Petição', null])
  expect(items.map((each: { simulado: boolean }) => each.simulado)).toEqual([true, true, true])
  expect((await at('/resultados.csv')).body).toMatch(
    /;"true";"USD";"0,000000";"";.*\r\n.*;"true";"USD";"";"documento sem texto";[";]*"false";[";]*\r\n$/s,
  )
  const other = (await ask('POST', '/execucoes', { body: { projeto_id, documentos } })).body.id
  const asked: [method: string, path: string][] = [
    ...['/projetos', `/projetos/${projeto_id}`, '/execucoes'].map(path => ['GET', path] as [string, string]),
    ...['documentos', 'erros', 'resultados'].map(path => ['GET', `/execucoes/${made.id}/${path}`] as [string, string]),
    ...['retomar', 'reprocessar-erros', 'pausar', 'continuar', 'cancelar'].map(
      action => ['POST', `/execucoes/${other}/${action}`] as [string, string],
    ),
  ]
  for (const [method, path] of asked)
    expect((await ask(method, path)).body, `${method} ${path}`).toMatchObject({ simulado: true })
  const changed = await ask('PATCH', `/projetos/${projeto_id}`, { body: { nome: 'Outras' } })
  expect(changed.body).toMatchObject({ nome: 'Outras', simulado: true })
  const stream = String((await at('/eventos')).body)
  const data = stream.split('\n').filter(line => line.startsWith('data:') && !line.includes('segundos_sem_progresso'))
  expect(data.length).toBeGreaterThan(0)
  for (const line of data) expect(JSON.parse(line.slice(5))).toMatchObject({ simulado: true })
})
