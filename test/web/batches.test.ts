/** The pages of batches in a real browser. */
import { text } from 'node:stream/consumers'
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
})

test('dragging over the map selects a range, which the table shows, and a click opens an item', async () => {
  const { url, id } = await ended()
  const { page } = await openPage(`${url}batches/${id}`)
  const map = page.getByRole('application')
  await map.hover({ position: { x: 5, y: 5 } })
  await page.getByText('Item 1: Concluído').waitFor()
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

test('a viewer sees the batch and is offered no action', async () => {
  const { url, id } = await ended({ role: 'viewer' })
  const { page } = await openPage(`${url}batches/${id}`)
  await page.getByText('Falhas por causa').waitFor()
  await page.getByRole('link', { name: 'carta-0' }).waitFor()
  expect(await page.getByRole('button', { name: /Reprocessar|Tentar|Pausar|Cancelar/ }).count()).toBe(0)
  expect(await page.getByRole('checkbox').count()).toBe(0)
})
