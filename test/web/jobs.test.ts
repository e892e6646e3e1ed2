/** The pages of jobs in a real browser. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, doNotRetry, type Engine, minutes, providerWait, seconds } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

const markup = '<script>document.title="x"</script>'

function quoteJob() {
  const shop = { isOpen: false }
  const quote = defineJob({
    kind: 'quote',
    queue: 'quotes',
    input: z.object({ item: z.string() }),
    maxAttempts: 2,
    backoff: { first: seconds(0.05), factor: 1, max: seconds(1), jitter: 0 },
    async run(ctx, { item }) {
      const found = await ctx.step('search', () => ({ item, offers: [10, 12] }))
      await ctx.sleep('cool-down', seconds(0.2))
      await ctx.step('prices', () => found.offers.map(price => price * 2))
      if (item === markup && !shop.isOpen) throw doNotRetry(new Error(`a loja ${markup} fechou`))
      return { item, best: 10 }
    },
  })
  return { shop, quote }
}

const isFinal = (engine: Engine, id: string) => until(async () => (await engine.job(id))?.finishedAt !== null)

test('a person finds a failed job, reads why, and runs it again', async () => {
  const { shop, quote } = quoteJob()
  const { engine, url } = await webApp({ jobs: [quote] })
  for (let n = 0; n < 30; n++) await engine.enqueue(quote, { item: `mesa ${n}` }, { ref: `m-${n}` })
  const { id } = await engine.enqueue(quote, { item: markup }, { ref: 'loja-1' })
  await engine.work({ queues: { quotes: 20 } })
  await isFinal(engine, id)

  const { page, problems } = await openPage(`${url}jobs`)
  await page.getByRole('link', { name: 'quote' }).first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'jobs')).toEqual([])
  await page.getByRole('searchbox', { name: 'Texto da busca' }).fill('loja-1')
  await page.keyboard.press('Enter')
  await page.getByText(`#${id} · loja-1`).waitFor()
  await page.getByText('#1 · m-0').waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('?ref=loja-1')

  await page.getByRole('link', { name: 'quote' }).click()
  await page.getByRole('heading', { level: 1, name: `quote #${id}` }).waitFor()
  await page.getByText(`a loja ${markup} fechou`).first().waitFor()
  await page.getByText('Pilha').click()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'job-failed')).toEqual([])

  shop.isOpen = true
  await page.getByRole('button', { name: 'Tentar de novo' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Tentar de novo' }).click()
  await page.getByText('Feito. Estado agora: Aguardando').waitFor()
  await page.locator('header').getByText('Concluído').waitFor()
  await page.getByRole('tab', { name: 'Dados' }).click()
  await page.getByText('best').waitFor()
  expect(await screenshots(page, 'job')).toEqual([])
  expect(problems).toEqual([])
})

test('an action on a filter says how many jobs it moves before it is confirmed', async () => {
  const { quote } = quoteJob()
  const { engine, url } = await webApp({ jobs: [quote] })
  const made = []
  for (let n = 0; n < 3; n++) made.push(await engine.enqueue(quote, { item: markup }, { ref: `loja-${n}` }))
  await engine.enqueue(quote, { item: 'mesa' })
  const worker = await engine.work({ queues: { quotes: 20 } })
  for (const { id } of made) await isFinal(engine, id)
  await worker.stop()

  const { page, problems } = await openPage(`${url}jobs?state=failed`)
  await page.getByText('Agir sobre o filtro').waitFor()
  await page.getByRole('button', { name: 'Tentar de novo' }).click()
  await page.getByRole('dialog').getByText('3 jobs voltam à fila').waitFor()
  expect(await violations(page)).toEqual([])
  await page.getByRole('dialog').getByRole('button', { name: 'Tentar de novo' }).click()
  await page.getByText('3 jobs mudaram').waitFor()
  await page.getByText('Nenhum job com este filtro').waitFor()

  await page.getByRole('button', { name: 'Limpar filtros' }).click()
  await page.getByText(/loja-2/).waitFor()
  for (const n of [0, 1]) await page.getByRole('checkbox', { name: `Selecionar loja-${n}` }).check()
  await page.getByRole('button', { name: 'Cancelar jobs' }).click()
  await page.getByRole('dialog').getByText('2 jobs são cancelados').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancelar jobs' }).click()
  await page.getByText('2 jobs mudaram').waitFor()
  expect((await engine.jobs.list({ state: 'cancelled' })).items.map(job => job.ref)).toEqual(['loja-1', 'loja-0'])
  expect(problems).toEqual([])
})

test('saved steps, large values and log lines are read when somebody opens them; a wait for a provider is on the timeline', async () => {
  const text = `${markup}${'x'.repeat(5000)}`
  const read = defineJob({
    kind: 'read',
    queue: 'pages',
    maxAttempts: 2,
    backoff: { first: seconds(0.01), factor: 1, max: seconds(1), jitter: 0 },
    input: z.object({ text: z.string() }),
    async run(ctx, _) {
      for (let n = 1; n <= 210; n++) ctx.log.info({ n }, `linha ${n} da tentativa ${ctx.attempt}`)
      await ctx.step('páginas/1', () => ({ title: markup, pages: [{ n: 1 }] }))
      if (ctx.attempt === 1) throw new Error('papel preso')
      return ctx.provider('openrouter', () => {
        throw providerWait({ retryAfter: minutes(10), code: '429', message: 'rate limit' })
      })
    },
  })
  const { engine, url } = await webApp({ jobs: [read] })
  const { id } = await engine.enqueue(read, { text })
  await using _ = await engine.work({ queues: { pages: 1 } })
  await until(async () => (await engine.providers.list()).length > 0)
  await until(async () => (await engine.job(id))?.state === 'waiting')
  const { page, problems } = await openPage(`${url}jobs/${id}?tab=data`)
  await page.getByText('Espera por openrouter', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Ver o provedor' }).waitFor()
  expect(await page.getByText('xxxxx').count()).toBe(0)
  await page.getByRole('button', { name: /^Carregar \(/ }).click()
  await page.getByText(`"${markup}xxxx`).waitFor()

  await page.getByRole('tab', { name: /Checkpoints/ }).click()
  await page.getByRole('button', { name: 'Ver o valor de páginas/1' }).click()
  await page.getByText(`"${markup}"`).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'job-checkpoints')).toEqual([])

  await page.getByRole('tab', { name: 'Logs' }).click()
  const lines = page.getByRole('list', { name: 'Logs' }).getByRole('listitem')
  await expect.poll(() => lines.count()).toBe(200)
  expect(await lines.last().textContent()).toContain('linha 210 da tentativa 2')
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'job-logs')).toEqual([])
  await page.getByLabel('Tentativa').selectOption('1')
  await page.getByText('linha 11 da tentativa 1').waitFor()

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Mais ações' }).click()
  await page.getByRole('menuitem', { name: 'Copiar como curl' }).click()
  await page.getByText('Copiado').waitFor()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`/api/v1/jobs/${id}'`)
  expect(problems).toEqual([])
})
