/** The overview: the one sentence of health for each trouble, and the button beside the sentence that helps. */
import { expect, test } from 'vitest'
import { snaps } from '../../apps/snaps/index.ts'
import { defineBatch, defineJob } from '../../src/index.ts'
import { webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

const markup = '<img src=x onerror="document.title=1"> <b>negrito</b>'

const letter = defineJob({
  kind: 'letter',
  queue: 'letters',
  maxAttempts: 1,
  run: (_, { n }: { n: number }) => {
    if (n % 3 === 0) throw new Error(`caixa cheia: ${markup}`)
    return n
  },
})
const letters = defineBatch({ name: 'letters', job: letter })

test('the overview says what is wrong, the button helps, and markup in an error stays text', async () => {
  const { engine, url } = await webApp({ jobs: [letter], engine: { batches: [letters] } })
  await using _worker = await engine.work({ queues: { letters: 3 } })
  const batch = await engine.submit(
    letters,
    [1, 2, 3, 4, 5, 6].map(n => ({ n })),
  )
  await engine.wait({ batch: batch.id })
  await engine.queues.pause('letters')
  await engine.enqueue(letter, { n: 1 })
  const { page, problems } = await openPage(url)
  const sentence = page.getByText('A fila letters está pausada e 1 job espera')
  await sentence.waitFor()
  await expect.poll(() => page.title()).toBe('(1) Visão geral · Retoma')
  const icon = () => page.locator('link[rel=icon]').getAttribute('href')
  expect(await icon()).toMatch(/favicon-trouble\.svg$/)
  await page.getByText('2×').waitFor()
  expect(await page.getByText(`caixa cheia: ${markup}`).count()).toBe(1)
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'overview')).toEqual([])
  await page.getByRole('button', { name: 'Retomar a fila' }).click()
  await page.getByText('A fila letters voltou a andar').waitFor()
  await page.getByText(/Tudo andando|Nada para fazer agora/).waitFor()
  await expect.poll(() => page.title()).toBe('Visão geral · Retoma')
  expect(await icon()).toMatch(/favicon\.svg$/)
  expect(problems).toEqual([])
})

test('the overview, the incidents and the title show the same problems, each with its page and its button', async () => {
  const { engine, url } = await webApp({ jobs: [letter], engine: { batches: [letters] } })
  await using _worker = await engine.work({ queues: { letters: 3 } })
  await engine.transaction(async tx => {
    await tx.query(
      `insert into retoma.provider (name, stopped_at, probe_at, message, at) values ('mail', now() - interval '4 minutes', now(), 'no credit', now())`,
    )
    await tx.query(
      `insert into retoma.guard (name, about, swept_at, last_error, failing_since)
       values ('lost', '{"every": 60000}', now(), '{"code": "x", "en": "no table", "pt": "sem tabela"}', now() - interval '3 minutes')`,
    )
  })
  const { page, problems } = await openPage(url)
  const both = ['O provedor mail recusa os pedidos: no credit', 'A guarda lost não consegue varrer: sem tabela']
  for (const text of both) await page.getByText(text).waitFor()
  await page.getByText('há 4 min').waitFor()
  await expect.poll(() => page.title()).toBe('(2) Visão geral · Retoma')
  await page.getByRole('link', { name: 'Ver' }).first().click()
  await page.getByRole('heading', { name: 'mail', level: 1 }).waitFor()
  await page.getByText('no credit').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'provider')).toEqual([])
  await page.goto(`${url}incidents`)
  for (const text of both) await page.getByText(text).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'incidents')).toEqual([])
  await page.getByRole('button', { name: 'Tentar agora' }).click()
  await page.getByText('O provedor mail pode ser chamado de novo').waitFor()
  await expect.poll(() => page.title()).toBe('(1) Incidentes · Retoma')
  expect(await page.getByText(both[0]!).count()).toBe(0)
  expect(problems).toEqual([])
})

test('a tab in the background reads the problems again, and its title shows a new problem', async () => {
  const { engine, url } = await webApp({ jobs: [letter] })
  const { page } = await openPage('about:blank')
  await page.addInitScript(() => {
    Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
    Object.defineProperty(document, 'hidden', { get: () => true })
  })
  await page.clock.install()
  const first = page.waitForResponse('**/stats/health')
  await page.goto(url)
  await first
  await expect.poll(() => page.title()).toBe('Visão geral · Retoma')
  // No event of the stream tells of this problem.
  await engine.query(
    `insert into retoma.provider (name, stopped_at, probe_at, message, at) values ('mail', now(), now(), 'no credit', now())`,
  )
  const read = page.waitForResponse('**/stats/health')
  await page.clock.runFor(31_000)
  await read
  await expect.poll(() => page.title()).toBe('(1) Visão geral · Retoma')
})

test('an empty overview leads to a sample', async () => {
  const { url } = await webApp({ systems: [snaps()] })
  const { page, problems } = await openPage(url)
  await page.getByText('Nenhum job terminou neste período').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'overview-empty')).toEqual([])
  await page.getByRole('button', { name: 'Experimentar com um exemplo: Snaps' }).click()
  await page.getByRole('button', { name: 'Enviar uma imagem de exemplo' }).waitFor()
  expect(problems).toEqual([])
})

test('the dialog names the stalled jobs that its button resumes, and one request resumes the jobs', async () => {
  const { engine, url } = await webApp({ jobs: [letter], engine: { batches: [letters] } })
  await engine.enqueueMany(
    letter,
    [1, 2].map(n => ({ n })),
  )
  const batch = await engine.submit(letters, [{ n: 4 }])
  await engine.transaction(async tx => {
    await tx.query(`update retoma.job set state = 'stalled', attempt = 1`)
    await tx.query(`update retoma.batch set state = 'stalled', claims_blocked = true, reason = '{"code":"no_worker"}'`)
  })
  const { page, problems } = await openPage(url)
  const requests: string[] = []
  page.on('request', request => request.method() === 'POST' && requests.push(new URL(request.url()).pathname))
  await page.getByRole('button', { name: 'Continuar os jobs' }).click()
  await page.getByRole('dialog').getByText('2 jobs voltam à fila').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Continuar os jobs' }).click()
  await page.getByText('2 jobs voltaram à fila').waitFor()
  expect(requests).toEqual(['/api/v1/jobs/resume', '/api/v1/jobs/resume'])
  expect((await engine.jobs.list({ state: 'stalled' })).items.map(each => each.batchId)).toEqual([batch.id])
  expect(problems).toEqual([])
})

test('a browser that prefers neither language gets English, and a click on a link of a row is one step back', async () => {
  const { engine, url } = await webApp({ jobs: [letter] })
  await engine.enqueue(letter, { n: 1 })
  const { page } = await openPage(url, { locale: 'de-DE' })
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  const link = page.getByRole('link', { name: 'letters', exact: true })
  await link.click({ modifiers: ['ControlOrMeta'] })
  expect(new URL(page.url()).pathname).toBe('/')
  const before = await page.evaluate(() => history.length)
  await link.click()
  await page.getByRole('heading', { name: 'letters', level: 1 }).waitFor()
  expect(await page.evaluate(() => history.length)).toBe(before + 1)
  await page.goBack()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
})
