/** The pages of the operation in a real browser: workers, queues, schedules, guards, providers, tokens. */
import { expect, test } from 'vitest'
import {
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  minutes,
  providerStop,
  providerWait,
} from '../../src/index.ts'
import { type WebApp, webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

const classify = defineJob({ kind: 'classify-document', queue: 'classifier', run: () => 'ok' })
const ask = defineJob({
  kind: 'ask',
  queue: 'quotes',
  run: ctx =>
    ctx.provider('anthropic', () => {
      throw providerWait({ retryAfter: minutes(10), code: '429', message: 'rate limit: 50 requests per minute' })
    }),
})
const pay = defineJob({
  kind: 'pay',
  queue: 'quotes',
  run: ctx =>
    ctx.provider('openrouter', () => {
      throw providerStop({ code: '402', message: '<b>Insufficient credits</b>' })
    }),
})
const sweep = defineSchedule({ name: 'recover_stuck_quotes', job: classify, every: minutes(5) })
const report = defineSchedule({ name: 'report', job: classify, cron: '0 4 * * *', timeZone: 'America/Sao_Paulo' })
const watch = defineGuard({
  name: 'documents',
  table: 'web_documents',
  status: { column: 'status', running: ['PROCESSING'] },
  signal: 'updated_at',
  after: minutes(10),
  // No sweep of its own between the dry run and the button.
  every: minutes(60),
  set: { status: 'FAILED' },
})

async function operated(): Promise<WebApp> {
  const app = await webApp({ jobs: [classify, ask, pay], engine: { schedules: [sweep, report], guards: [watch] } })
  // A test before may have used this database.
  await app.engine.query('drop table if exists web_documents')
  await app.engine.query(
    'create table web_documents (id bigint primary key generated always as identity, status text, updated_at timestamptz)',
  )
  return app
}

/** Jobs that meet a provider which asks to wait, and a provider which stopped. */
async function worked(engine: Engine): Promise<void> {
  await engine.enqueue(ask)
  await engine.enqueue(pay)
  await using _ = await engine.work({ queues: { quotes: 2 } })
  await expect
    .poll(async () => (await engine.providers.list()).map(each => each.state).sort())
    .toEqual(['stopped', 'waiting'])
}

test('a queue is paused with what it will do, its limits are edited, and it continues', async () => {
  const { url, engine } = await operated()
  await engine.enqueueMany(
    classify,
    Array.from({ length: 1200 }, () => undefined),
  )
  await engine.queues.setLimits('classifier', { concurrency: 20, fair: 'group' })
  const { page, problems } = await openPage(`${url}queues`)
  const row = page.getByRole('row', { name: /classifier/ })
  await row.getByText('1.200').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'queues')).toEqual([])
  await page.getByRole('button', { name: 'Pausar: classifier' }).click()
  await page.getByRole('dialog').getByText('Nenhum job novo começa').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Pausar' }).click()
  await row.getByText('Pausada').waitFor()
  await page.getByRole('link', { name: 'classifier' }).click()
  await page.getByRole('heading', { level: 1, name: 'classifier' }).waitFor()
  await page.getByText('20 ao mesmo tempo').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'queue')).toEqual([])
  await page.getByRole('button', { name: 'Editar os limites' }).click()
  await page.getByLabel('Jobs ao mesmo tempo').fill('zero')
  await page.getByText('Um número inteiro maior que zero, ou vazio.').waitFor()
  expect(await page.getByRole('button', { name: 'Salvar' }).isDisabled()).toBe(true)
  await page.getByLabel('Jobs ao mesmo tempo').fill('7')
  await page.getByLabel('Inícios por período em cada grupo').fill('3')
  await page.getByLabel('Período do grupo em segundos').fill('1,5')
  const refused = { error: { code: 'bad_option', message: 'recusado de propósito' } }
  await page.route('**/limits', answer => answer.fulfill({ status: 400, json: refused }))
  await page.getByRole('button', { name: 'Salvar' }).click()
  // The report is inside of the dialog, where a click reaches its button.
  await page.getByRole('dialog').getByText('recusado de propósito').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Fechar' }).last().click()
  await page.unroute('**/limits')
  await page.getByRole('button', { name: 'Salvar' }).click()
  await page.getByText('7 ao mesmo tempo').waitFor()
  await page.getByText('3 por 1,5 s em cada grupo').waitFor()
  expect((await engine.queues.list()).find(each => each.queue === 'classifier')).toMatchObject({
    paused: true,
    limits: { concurrency: 7, fair: 'group', perGroup: { rate: { limit: 3, per: 1500 } } },
  })
  await page.getByRole('button', { name: 'Continuar: classifier' }).click()
  await page.getByRole('button', { name: 'Pausar: classifier' }).waitFor()
  expect(problems.filter(each => !/\b400\b/.test(each))).toEqual([])
})

test('workers, schedules and providers are shown as they are, and their buttons act', async () => {
  const { url, engine } = await operated()
  await worked(engine)
  await using _ = await engine.work({ queues: { classifier: 4 } })
  const { page, problems } = await openPage(`${url}providers`)
  await page.getByText('<b>Insufficient credits</b>').waitFor()
  await page.getByText('Pediu para esperar').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'providers')).toEqual([])
  await page.getByRole('button', { name: 'Perguntar agora: anthropic' }).click()
  await page.getByText('anthropic: a espera acabou').waitFor()

  await page.goto(`${url}workers`)
  await page.getByText('Vivo').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'workers')).toEqual([])

  await page.goto(`${url}schedules`)
  await page.getByText('a cada 5 min', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Executar agora: report' }).click()
  await page.getByText(/Job \d+ na fila/).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'schedules')).toEqual([])

  await page.getByRole('link', { name: 'report' }).click()
  await page.getByText('todo dia às 04:00 (America/Sao_Paulo)').waitFor()
  const times = page.getByRole('list', { name: 'Próximas 10 vezes' }).getByRole('listitem')
  await expect.poll(() => times.count()).toBe(10)
  expect(await times.first().textContent()).toMatch(/04:00/)
  await page.getByRole('table', { name: 'Últimas execuções' }).getByText('Concluído').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'schedule-one')).toEqual([])
  await page.getByRole('button', { name: 'Pausar: report' }).click()
  await page.getByRole('dialog').getByText('Os horários passam sem criar um job').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Pausar' }).click()
  await page.getByText('Agenda report pausada.').waitFor()
  expect((await engine.schedules.list()).find(each => each.name === 'report')?.paused).toBe(true)
  await page.getByRole('button', { name: 'Desfazer' }).click()
  await page.getByRole('button', { name: 'Pausar: report' }).waitFor()
  expect((await engine.schedules.list()).find(each => each.name === 'report')?.paused).toBe(false)

  await engine.queues.setLimits('classifier', { perGroup: { rate: { limit: 1, per: minutes(60) } } })
  const { id } = await engine.enqueue(classify, undefined, { groupKey: '<b>ana</b>' })
  await engine.wait({ job: id })
  await page.goto(`${url}queues/classifier`)
  const group = page.getByRole('table', { name: 'Grupos' }).getByRole('row', { name: '<b>ana</b>' })
  await group.getByText('Cheio').waitFor()
  await group.getByText('1 / 1 por 1 h').waitFor()
  expect(await violations(page)).toEqual([])
  expect(problems).toEqual([])
})

test('a blocked worker names the function, and the settings show the findings of the doctor', async () => {
  const { url, engine } = await operated()
  await engine.query(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at, blocked_since, blocked_stack)
     values ('w-stuck', 'maquina-7', 41, '0.1.0', '{}', '{classify-document}', now(), now() + interval '1 hour',
       now() - interval '40 seconds', $1)`,
    [`at parse (/srv/app/<b>parse</b>.js:12:7)\n    at run (/srv/app/job.js:3:1)`],
  )
  const { page, problems } = await openPage(`${url}workers/w-stuck`)
  await page.getByRole('heading', { level: 1, name: /maquina-7/ }).waitFor()
  await page.getByText('/srv/app/<b>parse</b>.js:12:7').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'worker')).toEqual([])
  await page.goto(`${url}settings`)
  await page.getByRole('heading', { level: 1, name: 'Configuração' }).waitFor()
  await page.getByText('PostgreSQL').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'settings')).toEqual([])
  expect(problems).toEqual([])
})

test('a guard lists the lost rows without a change, and marks them when a person says so', async () => {
  const { url, engine } = await operated()
  // The next sweep of the guard itself is an hour after this sweep.
  await engine.guards.run('documents')
  await engine.query(
    "insert into web_documents (status, updated_at) select 'PROCESSING', now() - interval '1 hour' from generate_series(1, 3)",
  )
  const { page, problems } = await openPage(`${url}guards`)
  await page.getByRole('button', { name: 'Simular: documents' }).click()
  await page.getByText('3 linhas seriam marcadas. Nada foi mudado.').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'guards')).toEqual([])
  await page.getByRole('button', { name: 'Marcar 3 linhas' }).click()
  await page.getByText('3 linhas marcadas.').waitFor()
  const { rows } = await engine.query('select distinct status from web_documents')
  expect(rows).toEqual([{ status: 'FAILED' }])
  await engine.query(
    `update retoma.guard set last_error = '{"code": "x", "en": "no table", "pt": "sem <b>tabela</b>"}', failing_since = now()
     where name = 'documents'`,
  )
  await page.goto(`${url}guards/documents`)
  await page.getByText('A guarda documents não consegue varrer: sem <b>tabela</b>').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'guard')).toEqual([])
  expect(problems).toEqual([])
})

test('the first token is shown once, and the page then asks for a log-in', async () => {
  const { url } = await operated()
  const { page } = await openPage(`${url}tokens`)
  await page.getByText('Nenhum token ainda').waitFor()
  await page.getByRole('button', { name: 'Criar um token' }).click()
  await page.getByLabel('Usuário').fill('ana')
  await page.getByRole('dialog').getByRole('button', { name: 'Criar um token' }).click()
  await page.getByText('Copie o token agora').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'tokens')).toEqual([])
  const token = (await page.getByRole('region', { name: 'Token' }).textContent())!
  await page.getByRole('dialog').getByRole('button', { name: 'Fechar' }).last().click()
  await page.getByRole('button', { name: 'Entrar' }).waitFor()
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Entrar' }).click()
  await page.getByRole('row', { name: /ana/ }).waitFor()
})
