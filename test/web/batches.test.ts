/** The pages of batches in a real browser. */
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineBatch, defineJob, doNotRetry, type Engine } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { type WebApp, webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

const markup = '<img src=x onerror="document.title=1"> sem tinta'

/** Items fail as their input says, until `ink` is there. */
function letters() {
  const printer = { ink: false }
  const letter = defineJob({
    kind: 'letter',
    queue: 'post',
    input: z.object({ n: z.number(), fails: z.string().optional() }),
    maxAttempts: 1,
    run(_, { n, fails }) {
      if (fails !== undefined && !(printer.ink && fails === markup)) throw doNotRetry(new Error(fails))
      return { page: n, text: '<b>ok</b>' }
    },
  })
  return { printer, batch: defineBatch({ name: 'letters', job: letter }) }
}

async function ended(given: { role?: 'viewer' } = {}): Promise<WebApp & ReturnType<typeof letters> & { id: string }> {
  const { printer, batch } = letters()
  const app = await webApp({ engine: { batches: [batch] }, ...given })
  const items = Array.from({ length: 240 }, (_, n) => ({
    n,
    ...(n % 20 === 7 ? { fails: markup } : n % 80 === 3 ? { fails: 'sem papel' } : {}),
  }))
  const { id } = await app.engine.submit(batch, items, { ref: item => `carta-${item.n}` })
  await app.engine.work({ queues: { post: 20 } })
  await isOver(app.engine, id)
  return { ...app, printer, batch, id }
}

const isOver = (engine: Engine, id: string) => until(async () => (await engine.batch(id))?.finishedAt !== null)

test('a person finds the batch, sees its failures by cause, and heals one cause with one button', async () => {
  const { engine, url, id, printer } = await ended()
  const { page, problems } = await openPage(`${url}batches`)
  await page.getByRole('progressbar', { name: `Progresso de letters ${id}` }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'batches')).toEqual([])

  await page.getByRole('link', { name: 'letters' }).click()
  await page.getByRole('heading', { level: 1, name: `letters #${id}` }).waitFor()
  await page.getByText('carta-0', { exact: true }).waitFor()
  await page.getByText(markup).first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'batch')).toEqual([])

  printer.ink = true
  const group = page.getByRole('listitem').filter({ hasText: markup })
  await group.getByRole('button', { name: 'Tentar estes de novo' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('12 itens voltam à fila').waitFor()
  expect(await violations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Tentar estes de novo' }).click()
  await page.getByText('12 itens voltaram à fila').waitFor()
  await isOver(engine, id)
  await group.waitFor({ state: 'detached' })
  expect((await engine.batch(id))?.failed).toBe(3)
  await page.getByText('mandou reprocessar os erros').waitFor()
  expect(problems).toEqual([])
})

test('items are found by ref, by state and by their place, and the filter is in the address', async () => {
  const { url, id } = await ended()
  const { page } = await openPage(`${url}batches/${id}?state=failed`)
  await page.getByRole('link', { name: 'carta-27' }).waitFor()
  await page.getByRole('searchbox', { name: 'Buscar por ref' }).fill('carta-163')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'carta-27' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'carta-163' }).waitFor()
  expect(new URL(page.url()).search).toBe('?ref=carta-163')
  await page.getByRole('searchbox', { name: 'Buscar por ref' }).fill('')
  await page.getByRole('link', { name: 'carta-0' }).waitFor()
  await page.getByRole('rowgroup', { name: 'Itens' }).evaluate(element => element.scrollTo(0, element.scrollHeight))
  await page.getByRole('link', { name: 'carta-239' }).waitFor()

  await page.getByRole('button', { name: 'Mais ações' }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Exportar itens (CSV)' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe(`letters-${id}.csv`)
  const lines = (await text(await file.createReadStream())).trimEnd().split('\r\n')
  expect(lines).toHaveLength(241)
  expect(lines[1]).toContain('carta-0,succeeded,1,0,')
  await page.getByText('240 itens exportados').waitFor()
})

test('the map names, opens and selects items with the keyboard', async () => {
  const { url, id } = await ended()
  const { page } = await openPage(`${url}batches/${id}`)
  const map = page.getByRole('application', { name: /Mapa dos itens do lote\. .*Falhou 15/ })
  await map.focus()
  await page.keyboard.press('ArrowRight')
  await page.getByText('Item 1: Concluído').waitFor()
  for (let n = 0; n < 3; n++) await page.keyboard.press('ArrowRight')
  await page.getByText('Item 4: Falhou').waitFor()
  await page.keyboard.press('Shift+ArrowRight')
  await page.getByText('Itens 4 a 5 selecionados').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: /^letter #/ }).waitFor()
  await page.getByText('carta-4', { exact: true }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'job-of-batch')).toEqual([])
})

test('dragging over the map selects a range, which the table shows, and a click opens an item', async () => {
  const { url, id } = await ended()
  const { page } = await openPage(`${url}batches/${id}`)
  const map = page.getByRole('application', { name: /Mapa dos itens do lote\. .*Falhou 15/ })
  // The page may grow above the map while it is read.
  await expect
    .poll(async () => {
      await map.hover({ position: { x: 5, y: 5 } })
      return page.getByText('Item 1: Concluído').isVisible()
    })
    .toBe(true)
  await page.mouse.down()
  await map.hover({ position: { x: 60, y: 5 } })
  await page.mouse.up()
  await page.getByText(/^Itens 1 a \d+ selecionados/).waitFor()
  await page.getByRole('button', { name: 'Selecionar' }).click()
  await page.getByText(/^\d+ itens selecionados$/).waitFor()
  expect(
    await page.getByRole('rowgroup', { name: 'Itens' }).getByRole('checkbox', { checked: true }).count(),
  ).toBeGreaterThan(2)
  await map.click({ position: { x: 5, y: 5 } })
  await page.getByRole('heading', { level: 1, name: /^letter #/ }).waitFor()
})

test('after the end of a batch every row is read again, also rows that were read before, and after a read that failed', async () => {
  const post = { open: () => {} }
  const opened = new Promise<void>(resolve => {
    post.open = resolve
  })
  const letter = defineJob({ kind: 'letter', queue: 'post', input: z.number(), run: () => opened })
  const batch = defineBatch({ name: 'letters', job: letter })
  const { engine, url } = await webApp({ engine: { batches: [batch] } })
  const items = Array.from({ length: 240 }, (_, n) => n)
  const { id } = await engine.submit(batch, items, { ref: n => `carta-${n}` })
  const { page } = await openPage(`${url}batches/${id}`)
  const rows = page.getByRole('rowgroup', { name: 'Itens' })
  const row = (name: string) => rows.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
  await row('carta-0').getByText('Aguardando').waitFor()
  await rows.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await row('carta-239').getByText('Aguardando').waitFor()
  await rows.evaluate(element => element.scrollTo(0, 0))
  await row('carta-0').waitFor()

  let failures = 0
  await page.route(/\/items\?offset=0&/, route => (failures++ === 0 ? route.abort() : route.fallback()))
  post.open()
  await using _ = await engine.work({ queues: { post: 40 } })
  await isOver(engine, id)
  await page.locator('header').getByText('Concluído').first().waitFor()
  await row('carta-0').getByText('Concluído').waitFor()
  await rows.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await row('carta-239').getByText('Concluído').waitFor()

  failures = 0
  await page.reload()
  await row('carta-0').getByText('Concluído').waitFor()
  expect(failures).toBeGreaterThan(1)
})

test('seven tabs with a running batch each all load and move, on two event streams', async () => {
  const letter = defineJob({ kind: 'letter', queue: 'post', input: z.number(), run: () => {} })
  const batch = defineBatch({ name: 'letters', job: letter })
  const { engine, url } = await webApp({ engine: { batches: [batch] } })
  const ids: string[] = []
  for (let n = 0; n < 7; n++) ids.push((await engine.submit(batch, [1, 2, 3])).id)
  const { page } = await openPage(url)
  const tabs: Page[] = []
  for (const id of ids) {
    const tab = await page.context().newPage()
    tabs.push(tab)
    await tab.goto(`${url}batches/${id}`)
    await tab.getByRole('heading', { level: 1, name: `letters #${id}` }).waitFor()
    await tab.locator('[data-live=live]').waitFor()
  }
  const metrics = async () => (await fetch(`${url}metrics`)).text()
  // The server notices the end of an earlier stream a moment later.
  await expect.poll(metrics).toMatch(/^retoma_sse_clients(?:\{.*\})? 2$/m)
  await using _ = await engine.work({ queues: { post: 3 } })
  for (const tab of tabs) await tab.locator('header').getByText('Concluído').first().waitFor()
})

test('progress bars move also on a second page of batches, and a long list of jobs says since when its rows stand still', async () => {
  const letter = defineJob({ kind: 'letter', queue: 'post', input: z.number(), run: () => {} })
  const batch = defineBatch({ name: 'letters', job: letter })
  const { engine, url } = await webApp({ engine: { batches: [batch] } })
  const { id } = await engine.submit(batch, [1, 2])
  for (let n = 0; n < 50; n++) await engine.submit(batch, [1, 2])
  const { page } = await openPage(`${url}batches`)
  await page.getByRole('button', { name: 'Mostrar mais' }).click()
  const oldest = page.getByRole('progressbar', { name: `Progresso de letters ${id}`, exact: true })
  await oldest.waitFor()
  expect(await oldest.getAttribute('aria-valuenow')).toBe('0')
  await using worker = await engine.work({ queues: { post: 20 } })
  await expect.poll(() => oldest.getAttribute('aria-valuenow')).toBe('100')
  await worker.stop()

  await engine.enqueueMany(
    letter,
    Array.from({ length: 150 }, (_, n) => n),
  )
  await page.goto(`${url}jobs`)
  const rows = page.getByRole('rowgroup', { name: 'Jobs' })
  await rows.getByText('Aguardando').first().waitFor()
  const still = page.getByText(/^Lista longa, lida às \d\d:\d\d:\d\d/)
  expect(await still.count()).toBe(0)
  await rows.evaluate(element => element.scrollTo(0, element.scrollHeight))
  await still.waitFor()
  expect(await violations(page)).toEqual([])
  await rows.evaluate(element => element.scrollTo(0, 0))
  await using _ = await engine.work({ queues: { post: 20 } })
  await until(async () => (await engine.jobs.list({ state: 'waiting', limit: 1 })).items.length === 0)
  await still.getByRole('button', { name: 'Atualizar' }).click()
  await rows.getByText('Concluído').first().waitFor()
})

test('an action on selected items ends with the words of the first error, and the items without an answer stay selected', async () => {
  const { url, id } = await ended()
  const { page } = await openPage(`${url}batches/${id}?state=failed`)
  for (const n of [3, 7, 27]) await page.getByRole('checkbox', { name: `Selecionar carta-${n}`, exact: true }).check()
  let asked = 0
  await page.route(/\/items\/\d+\/retry$/, route => (++asked === 2 ? route.abort() : route.fallback()))
  await page.getByRole('button', { name: 'Tentar de novo', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Tentar de novo' }).click()
  await page.getByText('1 item mudou; 2 itens ficaram sem resposta: o servidor não respondeu').waitFor()
  await page.getByText('2 itens selecionados').waitFor()
  expect(asked).toBe(2)
})

test('an export names each value that is too large for a list', async () => {
  const letter = defineJob({ kind: 'letter', queue: 'post', input: z.number(), run: (_, size) => 'x'.repeat(size) })
  const batch = defineBatch({ name: 'letters', job: letter })
  const { engine, url } = await webApp({ engine: { batches: [batch] } })
  const { id } = await engine.submit(batch, [10, 9000])
  await using _ = await engine.work({ queues: { post: 2 } })
  await isOver(engine, id)
  const { page } = await openPage(`${url}batches/${id}`)
  await page.getByRole('button', { name: 'Mais ações' }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Exportar itens (CSV)' }).click()
  const [, small, large] = (await text(await (await download).createReadStream())).trimEnd().split('\r\n')
  expect(small).toMatch(/,xxxxxxxxxx,$/)
  expect(large).toMatch(/,,result \(\d+ bytes\): \/api\/v1\/jobs\/\d+$/)
  await page.getByText('2 itens exportados; 1 tem um valor grande, que o arquivo cita pelo endereço').waitFor()
})

test('a viewer sees the batch and is offered no action', async () => {
  const { url, id } = await ended({ role: 'viewer' })
  const { page } = await openPage(`${url}batches/${id}`)
  await page.getByText('Falhas por causa').waitFor()
  await page.getByRole('link', { name: 'carta-0' }).waitFor()
  const scrolled = page.evaluate(
    () =>
      new Promise(resolve => {
        Element.prototype.scrollIntoView = options => resolve(options)
      }),
  )
  await page.getByRole('button', { name: /^Falhou/ }).click()
  expect(await scrolled, 'with reduced motion').toEqual({ block: 'start', behavior: 'auto' })
  expect(await page.getByRole('button', { name: /Reprocessar|Tentar|Pausar|Cancelar/ }).count()).toBe(0)
  expect(await page.getByRole('checkbox').count()).toBe(0)
})

test('a read of an ended batch that failed is repeated until the read succeeds, without a reload', async () => {
  const { url, id } = await ended()
  const { page } = await openPage('about:blank')
  let isAway = true
  await page.route('**/failures/causes*', route => (isAway ? route.abort() : route.continue()))
  await page.clock.install()
  await page.goto(`${url}batches/${id}`)
  const passes = async (state: string) => {
    await page.clock.fastForward(1000)
    return page.locator(`[data-live=${state}]`).isVisible()
  }
  await expect.poll(() => passes('lost')).toBe(true)
  for (let seconds = 0; seconds < 30; seconds++) await page.clock.fastForward(1000)
  isAway = false
  await expect.poll(() => passes('live')).toBe(true)
})
