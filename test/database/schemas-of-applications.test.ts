/**
 * The five applications beside an engine whose schema has another name. The schema `retoma` does not exist, so that any statement that
 * still names it fails.
 */
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { goodPdf } from '../../apps/classifier/test/pdfs.ts'
import { documents } from '../../apps/documents/index.ts'
import { readAtOnce } from '../../apps/documents/test/door.ts'
import { planner } from '../../apps/planner/index.ts'
import { readPlannerSettings } from '../../apps/planner/settings.ts'
import { smallProblem } from '../../apps/planner/test/door.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { readQuotesSettings } from '../../apps/quotes/settings.ts'
import { snaps } from '../../apps/snaps/index.ts'
import { readSnapsSettings } from '../../apps/snaps/settings.ts'
import { photo } from '../../apps/snaps/test/images.ts'
import { createEngine } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { createTestDatabase } from '../../src/testing/index.ts'
import { doorOf } from '../http/support.ts'
import { until } from '../support/engine.ts'

const cronSecret = 'a secret of the cron routes'
const noKey = { key: undefined, model: undefined, baseUrl: 'http://127.0.0.1:9' }

async function openAll() {
  const { url, drop } = await createTestDatabase(inject('serverUrl'))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const systems = [
    classifier({ openRouter: noKey }),
    quotes({ settings: readQuotesSettings({}), simulatedDelays: false }),
    documents({ settings: { concurrency: 4 }, read: readAtOnce, draw: async () => null }),
    snaps({ settings: readSnapsSettings({}) }),
    planner({ settings: readPlannerSettings({}) }),
  ]
  const engine = await createEngine({ databaseUrl: url, schema: 'other_name', log: silentLog, systems })
  onTestFinished(async () => {
    await engine.close()
    await client.end()
    await drop()
  })
  for (const { attach } of systems) attach?.(engine)
  const door = doorOf(engine, { routes: systems.flatMap(({ routes = [] }) => routes), cronSecret })
  const send = async (path: string, field: string, file: File) => {
    const body = new FormData()
    body.set(field, file)
    const response = await door.fetch(new Request(`http://127.0.0.1:3000${path}`, { method: 'POST', body }))
    return { status: response.status, body: (await response.json()) as { id: string } }
  }
  return { engine, client, systems, ...door, send }
}

test('the five applications work, list and erase in an engine whose schema has another name', async () => {
  const { engine, client, systems, ask, send } = await openAll()
  const ok = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await ask(method, path, { ...(body === undefined ? {} : { body }), headers })
    expect([path, answer.status, answer.body?.error?.code ?? null]).toEqual([path, expect.toSatisfy(isFine), null])
    return answer.body
  }
  const isFine = (status: number) => status >= 200 && status < 300

  const { id: project } = await ok('POST', '/projetos', { nome: 'P', categorias: ['Contrato', 'Outros'] })
  const documentos = ['a', 'b'].map(codigo => ({ codigo, texto: 'um contrato de locação' }))
  const { id: execution } = await ok('POST', '/execucoes', { projeto_id: project, documentos, reaproveitar: true })
  await ok('PATCH', `/execucoes/${execution}`, { prioridade: 1 })
  const { id: quote } = await ok('POST', '/api/quotes', { description: 'notebook 14 polegadas', kind: 'product' })
  const { id: batch } = await ok('POST', '/api/quotes/batch', { quotes: [{ description: 'Fiat Uno 2010' }] })
  const pdf = new File([new Uint8Array(goodPdf('um contrato'))], 'a.pdf')
  const { body: document } = await send('/api/documents', 'file', pdf)
  const { id: sync } = await ok('POST', '/api/open-finance/sync', {})
  const { body: snap } = await send('/api/snaps', 'image', new File([new Uint8Array(await photo(1))], 'a.jpg'))
  const { id: plan } = await ok('POST', '/api/planner/generate-schedule', smallProblem)

  await engine.work({ queues: Object.assign({}, ...systems.map(({ queues = {} }) => queues)) })
  const done: [string, string][] = [
    [`/execucoes/${execution}`, 'CONCLUIDO'],
    [`/api/quotes/${quote}`, 'DONE'],
    [`/api/documents/${document.id}`, 'DONE'],
    [`/api/open-finance/syncs/${sync}`, 'DONE'],
    [`/api/snaps/${snap.id}`, 'DONE'],
    [`/api/planner/jobs/${plan}`, 'COMPLETED'],
  ]
  for (const [path, status] of done) await until(async () => (await ok('GET', path)).status === status)
  for (const path of [
    ...['/execucoes', `/execucoes/${execution}/status-detalhado`, `/execucoes/${execution}/resultados`],
    ...['/api/quotes', `/api/system/batch-status/${batch}`, '/api/system/processing-stats', '/api/system/stuck-quotes'],
    ...['/api/documents?q=contrato', '/api/open-finance/accounts', '/api/open-finance/transactions'],
    ...['/api/snaps', '/api/planner/jobs'],
  ])
    await ok('GET', path)
  for (const path of [
    `/execucoes/${execution}/reprocessar-erros`,
    '/api/system/recover-stuck',
    '/api/system/cleanup-old',
    `/api/documents/${document.id}/reprocess`,
  ])
    await ok('POST', path)
  await ok('POST', '/api/cron/watchdog-documents', undefined, { authorization: `Bearer ${cronSecret}` })
  const schedules = await engine.schedules.list()
  const runs = await Promise.all(schedules.map(({ name }) => engine.schedules.run(name)))
  for (const { id } of runs) expect((await engine.wait({ job: id })).state).toBe('succeeded')
  await until(async () => (await ok('GET', `/api/documents/${document.id}`)).status === 'DONE')
  for (const path of [
    `/execucoes/${execution}`,
    `/api/quotes/${quote}`,
    `/api/documents/${document.id}`,
    `/api/snaps/${snap.id}`,
    `/api/planner/jobs/${plan}`,
  ])
    await ok('DELETE', path)
  expect((await client.query(`select to_regnamespace('retoma') is null as missing`)).rows).toEqual([{ missing: true }])
})
