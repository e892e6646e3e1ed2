/** Quotes, the planner and snaps from the browser alone, in Portuguese, with simulated providers. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { documents } from '../../apps/documents/index.ts'
import { planner } from '../../apps/planner/index.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { simulatedShopping } from '../../apps/quotes/providers/simulated/shopping.ts'
import { snaps } from '../../apps/snaps/index.ts'
import { doNotRetry } from '../../src/index.ts'
import { gate } from '../support/engine.ts'
import { onTestFinished } from '../support/together.ts'
import { webApp } from './support/app.ts'
import { goesAndComesBack, isOfStop, openPage, screenshots, violations } from './support/browser.ts'

/** A GIF of one pixel. */
const onePixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

async function drop(page: Page, zone: string, file: { name: string; base64: string }): Promise<void> {
  const transfer = await page.evaluateHandle(({ name, base64 }) => {
    const made = new DataTransfer()
    made.items.add(new File([Uint8Array.from(atob(base64), each => each.charCodeAt(0))], name))
    return made
  }, file)
  await page.getByRole('group', { name: zone }).dispatchEvent('drop', { dataTransfer: transfer })
}

test('a quote goes through its steps on the page, and shows its price with the pages it was read from', async () => {
  const app = await webApp({ systems: [quotes()] })
  const { engine, url } = app
  const { page, problems } = await openPage(`${url}cotacoes/`)
  await page.getByText('Nenhuma cotação ainda').waitFor()
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Nova cotação' }).first().click()
  await page.getByLabel('O que cotar').fill('Notebook <i>Dell</i> Inspiron 15')
  await page.getByRole('button', { name: 'Cotar', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Notebook <i>Dell</i> Inspiron 15' }).waitFor()
  await page.getByText('Simulado').first().waitFor()
  await goesAndComesBack(page, app)
  await using _ = await engine.work({ queues: { quotes: 2 } })
  await page.getByText('Resultado').waitFor()
  await page.getByRole('table', { name: 'Preços lidos' }).waitFor()
  await page.getByRole('img', { name: /preços?, de/ }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'quote')).toEqual([])
  await page.goto(`${url}cotacoes/`)
  await page.getByRole('row', { name: /Dell/ }).getByText('R$').waitFor()
  expect(await screenshots(page, 'quotes')).toEqual([])
  expect(problems.filter(each => !isOfStop(each))).toEqual([])
})

test('a quote that hangs says so and goes on with "Retomar"; a quote that failed has its reason and goes on with "Cotar de novo"', async () => {
  const shopping = simulatedShopping(async () => {})
  const [begun, hang] = [gate(), gate()]
  onTestFinished(() => hang.open())
  let searches = 0
  const search: typeof shopping.search = async (query, signal) => {
    searches++
    if (searches === 1) {
      begun.open()
      await hang.passed
    }
    if (searches === 2) throw doNotRetry(new Error('a busca recusou <b>este item</b>'))
    return shopping.search(query, signal)
  }
  const { engine, url } = await webApp({
    systems: [quotes({ simulatedDelays: false, providers: { shopping: { ...shopping, search } } })],
  })
  await using _ = await engine.work({ queues: { quotes: 2 } })
  const { page, problems } = await openPage(`${url}cotacoes/`)
  await page.getByRole('button', { name: 'Cotar um exemplo' }).click()
  await page.getByText('tentativa 1').waitFor()
  await begun.passed
  expect(await page.getByRole('button', { name: 'Retomar' }).count()).toBe(0)
  await engine.query(
    `update retoma.job set state = 'stalled', last_worker = worker_id, worker_id = null,
       started_at = now() - interval '11 minutes', progress_at = now() - interval '11 minutes' where kind = 'quote'`,
  )
  await page.getByText(/^Sem sinal de vida há 11 min/).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'quote-stuck')).toEqual([])
  await page.getByRole('button', { name: 'Retomar' }).click()
  await page.getByText('Cotação de volta à fila: continua de onde parou.').waitFor()

  await page.getByText('a busca recusou <b>este item</b>').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'quote-failed')).toEqual([])
  await page.getByRole('button', { name: 'Cotar de novo' }).click()
  await page.getByText('Cotação de volta à fila.', { exact: true }).waitFor()
  await page.getByText('Resultado').waitFor()
  expect(searches).toBe(3)
  expect(problems).toEqual([])
})

test('a schedule whose worker died says so, and "Gerar de novo" finishes it', async () => {
  const { engine, url } = await webApp({ systems: [planner()] })
  const { page, problems } = await openPage(`${url}planejador/`)
  await page.getByRole('button', { name: 'Nova escala' }).first().click()
  await page.getByRole('button', { name: 'Gerar a escala' }).click()
  await page.getByText(/nenhum worker/i).waitFor()
  const [job] = (await engine.jobs.list({ kind: 'generate-schedule' })).items
  const orphan = 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu'
  await engine.jobs.fail(job!.id, orphan)
  await page.getByText(orphan).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'schedule-failed')).toEqual([])
  await using _ = await engine.work({ queues: { planner: 2 } })
  await page.getByRole('button', { name: 'Gerar de novo' }).click()
  await page.getByText('De volta à fila, com a mesma entrada.').waitFor()
  await page.getByText('Ótima: nenhuma escala melhor existe').waitFor()
  expect(problems).toEqual([])
})

test('a schedule is generated from the example and shown as a grid; a table of visits becomes demand by hour', async () => {
  const app = await webApp({ systems: [planner()] })
  const { engine, url } = app
  const { page, problems } = await openPage(`${url}planejador/`)
  await page.getByText('Nenhum trabalho ainda').waitFor()
  const table = 'data;hora;visitas\n02/03/2026;09:00;12\n02/03/2026;10:00;30\n03/03/2026;09:00;8\n'
  await drop(page, 'Solte a planilha de visitas aqui', { name: 'visitas.csv', base64: btoa(table) })
  await page.getByRole('row', { name: /Demanda/ }).waitFor()
  await page.getByRole('button', { name: 'Nova escala' }).click()
  await page.getByRole('button', { name: 'Gerar a escala' }).click()
  await page.getByRole('heading', { level: 1, name: /Escala/ }).waitFor()
  await goesAndComesBack(page, app)
  await using _ = await engine.work({ queues: { planner: 2 } })
  await page.getByText('Ótima: nenhuma escala melhor existe').waitFor()
  await page.getByRole('rowheader', { name: 'Ana' }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'schedule')).toEqual([])
  await page.goto(`${url}planejador/`)
  await page.getByRole('link', { name: /Demanda/ }).click()
  await page.getByText('50 visitas').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'demand')).toEqual([])
  expect(problems.filter(each => !isOfStop(each))).toEqual([])
})

test('images are dropped, pass through their queue, and are shown with their measures', async () => {
  const { engine, url } = await webApp({ systems: [snaps()] })
  const { page, problems } = await openPage(`${url}snaps/`)
  await page.getByText('Nenhuma imagem ainda').waitFor()
  await page.getByRole('button', { name: 'Enviar uma imagem de exemplo' }).click()
  await page.getByRole('img', { name: 'Imagem paisagem-exemplo.png' }).waitFor()
  await drop(page, 'Solte imagens aqui', { name: '<b>a</b>.gif', base64: onePixel })
  await drop(page, 'Solte imagens aqui', { name: 'b.gif', base64: onePixel })
  await page.getByRole('img', { name: 'Imagem b.gif' }).waitFor()
  await using _ = await engine.work({ queues: { snaps: 2 } })
  await expect.poll(() => page.getByText('1 × 1').count()).toBe(2)
  await page.getByText('640 × 480').waitFor()
  await page
    .getByText(/Igual à imagem/)
    .first()
    .waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'snaps')).toEqual([])
  expect(problems).toEqual([])
})

test('a viewer sees the pages of the systems and is offered no action', async () => {
  const systems = [quotes(), planner(), snaps(), documents({ settings: { concurrency: 1 } })]
  const { url } = await webApp({ systems, role: 'viewer' })
  const { page, problems } = await openPage(`${url}cotacoes/`)
  const pages = {
    'cotacoes/': 'Nenhuma cotação ainda',
    'planejador/': 'Nenhum trabalho ainda',
    'snaps/': 'Nenhuma imagem ainda',
    'cotacoes/?status=CANCELLED': 'Nada corresponde aos filtros',
    'snaps/?status=FAILED': 'Nada corresponde aos filtros',
    'documentos/': 'Nenhum documento ainda',
  }
  for (const [path, empty] of Object.entries(pages)) {
    await page.goto(url + path)
    await page.getByText(empty).first().waitFor()
    expect(
      await page
        .getByRole('main')
        .getByRole('button', { name: /nova|criar|enviar|escolher|sincronizar/i })
        .count(),
      path,
    ).toBe(0)
    expect(await page.locator('[data-drop-zone]').count(), path).toBe(0)
  }
  expect(problems).toEqual([])
})
