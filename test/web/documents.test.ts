/** The journeys of a person with PDFs and bank accounts, from the browser alone, in Portuguese. */
import { expect, test } from 'vitest'
import { goodPdf } from '../../apps/classifier/test/pdfs.ts'
import { errors } from '../../apps/documents/errors.ts'
import { documents } from '../../apps/documents/index.ts'
import { pdfReader } from '../../apps/documents/pdf/reader.ts'
import { readAtOnce } from '../../apps/documents/test/door.ts'
import { RetomaError } from '../../src/index.ts'
import { webApp } from './support/app.ts'
import { goesAndComesBack, isOfStop, openPage, screenshots, violations } from './support/browser.ts'

test('PDFs are sent, listed, found by their text, shown and erased; a file that is no PDF has a reason; a sync fills accounts, months and transactions', async () => {
  const system = documents({ settings: { concurrency: 4 }, read: readAtOnce, draw: async () => null })
  const app = await webApp({ systems: [system] })
  const { engine, url } = app
  await using worker = await engine.work({ queues: { documents: 4, sync: 2 } })
  const { page, problems } = await openPage(`${url}documentos/`)
  await page.getByText('Nenhum documento ainda').waitFor()
  await page.locator('[data-choose=files]').setInputFiles([
    { name: 'contrato.pdf', mimeType: 'application/pdf', buffer: goodPdf('Contrato de locação') },
    { name: '<b>recibo.pdf', mimeType: 'application/pdf', buffer: goodPdf('Recibo') },
    { name: 'foto.pdf', mimeType: 'application/pdf', buffer: Buffer.from('nada de PDF') },
  ])
  await page.getByText('2 de 3 arquivos enviados').waitFor()
  await page.getByText(/^Não enviado: /).waitFor()
  const rows = page.getByRole('table', { name: 'Documentos' }).getByRole('row')
  await rows.filter({ hasText: 'contrato.pdf' }).getByText('Concluído').waitFor()
  await rows.filter({ hasText: '<b>recibo.pdf' }).getByText('Concluído').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'documents')).toEqual([])

  await page.getByLabel('Buscar no texto e no nome').fill('recibo')
  await rows.filter({ hasText: 'contrato.pdf' }).waitFor({ state: 'detached' })
  let reads = 0
  await page.route(/\/text$/, route => (reads++ === 0 ? route.fulfill({ status: 410, body: '{}' }) : route.fallback()))
  await page.getByRole('link', { name: '<b>recibo.pdf' }).click()
  await page.getByRole('button', { name: 'Tentar de novo' }).click()
  await page.getByRole('region', { name: 'Texto' }).getByText('o texto de <b>recibo.pdf').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'documents-one')).toEqual([])
  await page.getByRole('button', { name: 'Apagar' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Apagar' }).click()
  await page.getByText('"<b>recibo.pdf" apagado').waitFor()

  await page.getByRole('tab', { name: 'Contas' }).click()
  await page.getByRole('button', { name: 'Sincronizar' }).click()
  await page.getByText(/\d+ transações novas/).waitFor()
  await page.getByRole('list', { name: 'Contas' }).getByRole('button').first().waitFor()
  await page
    .getByRole('table', { name: 'Transações' })
    .getByText(/^[+−] R\$/)
    .first()
    .waitFor()
  await page.getByText('Simulado').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'documents-bank')).toEqual([])

  for (let n = 0; n < 10; n++) await fetch(`${url}api/open-finance/sync`, { method: 'POST' })
  await page.getByRole('button', { name: 'Sincronizar' }).click()
  await page.getByText(/Limite de dez por minuto alcançado: tente de novo em \d+ segundos?/).waitFor()
  await goesAndComesBack(page, app)
  expect(problems.filter(each => !isOfStop(each) && !/\b4(?:10|15|29)\b/.test(each))).toEqual([])
  void worker
})

test('the sample PDF fails with its reason on the page, and the button beside the reason finishes it', async () => {
  let isLocked = true
  const read = pdfReader()
  const system = documents({
    settings: { concurrency: 1 },
    draw: async () => null,
    read: async (...given) => (isLocked ? { trouble: new RetomaError(errors.document_encrypted, {}) } : read(...given)),
  })
  const { engine, url } = await webApp({ systems: [system] })
  await using _ = await engine.work({ queues: { documents: 1 } })
  const { page, problems } = await openPage(`${url}documentos/`)
  await page.getByRole('button', { name: 'Enviar um PDF de exemplo' }).click()
  await page.getByRole('link', { name: 'contrato-exemplo.pdf' }).click()
  await page.getByText('o PDF está protegido por senha').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'documents-failed')).toEqual([])
  isLocked = false
  await page.getByRole('button', { name: 'Processar de novo' }).click()
  await page.getByRole('region', { name: 'Texto' }).getByText('CONTRATO DE LOCAÇÃO RESIDENCIAL').waitFor()
  expect(problems).toEqual([])
})
