/** The journeys of a person who classifies documents, from the browser alone, in Portuguese. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { ok, refuses } from '../../apps/classifier/test/behaviours.ts'
import { openRouterServer } from '../../apps/classifier/test/openrouter-server.ts'
import { until } from '../support/engine.ts'
import { onTestFinished } from '../support/together.ts'
import { webApp } from './support/app.ts'
import { isOfStop, openPage, screenshots, violations } from './support/browser.ts'
import { standInClassifier } from './support/stand-in-classifier.ts'

/** Drops files on the page, as a person does. */
async function drop(page: Page, files: readonly { name: string; text: string }[]): Promise<void> {
  const transfer = await page.evaluateHandle(given => {
    const made = new DataTransfer()
    for (const { name, text } of given) made.items.add(new File([text], name, { type: 'text/plain' }))
    return made
  }, files)
  await page.locator('[data-drop-zone]').dispatchEvent('drop', { dataTransfer: transfer })
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function newProject(page: Page): Promise<void> {
  await press(page, 'Novo projeto')
  await page.getByLabel('Nome').fill('Contratos <b>da casa</b>')
  await page.getByLabel('Categorias, uma por linha').fill('Contrato\nPetição Inicial\nOutros')
  await press(page, 'Criar projeto')
  await page.getByRole('heading', { level: 1, name: 'Nova classificação' }).waitFor()
}

const markup = 'fala de <script>document.title=1</script> <img src=x onerror="document.title=2"> locação'
const hostile = '<img src=x onerror=alert(1)>.txt'

test('a new project, 200 files dropped, a server that goes and comes back, progress to the end; errors have a reason and "Reprocessar apenas erros" heals them', async () => {
  const ai = await openRouterServer()
  onTestFinished(() => ai.close())
  const system = classifier({ openRouter: { key: ai.key, baseUrl: ai.baseUrl, model: 'm' } })
  const { engine, url, stop, start } = await webApp({ systems: [system] })
  const flagged = refuses(403, { message: 'Your input was <script>flagged</script>' })
  const answer = ok({ justificativa: markup })
  ai.behave(({ document }) => (/^D-(?:7|77)$/.test(document) ? flagged : answer))
  const { page, problems } = await openPage(`${url}classificador/`)
  await page.getByText('Nenhuma classificação ainda').waitFor()
  expect(await violations(page)).toEqual([])
  await newProject(page)

  const files = Array.from({ length: 200 }, (_, n) => ({
    name: n === 0 ? hostile : `documento-${String(n + 1).padStart(3, '0')}.txt`,
    text: `D-${n + 1} é um ${n % 3 === 0 ? 'contrato' : 'outros'} de locação.`,
  }))
  await drop(page, files)
  await page.getByText('200 arquivos', { exact: true }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-new')).toEqual([])
  await press(page, 'Classificar 200 documentos')
  await page.getByRole('heading', { level: 1, name: 'Contratos <b>da casa</b>' }).waitFor()
  await page.getByText('Pendente', { exact: true }).first().waitFor()

  await stop()
  const lost = page.getByRole('alert').filter({ hasText: 'Conexão perdida, tentando de novo' })
  await lost.getByText(/O último número é das \d\d:\d\d:\d\d/).waitFor()
  await start()
  await lost.waitFor({ state: 'detached' })

  await using worker = await engine.work({ queues: { classifier: 20 } })
  await page.locator('[data-sentence=CONCLUIDO]').getByText('Concluído com erros').waitFor()
  await page.locator('[data-percent]', { hasText: '100%' }).waitFor()
  await page.getByText('198', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: `Ver ${hostile}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Contrato', { exact: true }).first().waitFor()
  await dialog.getByText(markup).waitFor()
  await dialog.getByLabel('Categoria certa').selectOption('Outros')
  await press(page, 'Corrigir')
  await page.getByText('Categoria corrigida para "Outros"').waitFor()
  await dialog.getByText('a IA disse "Contrato"').waitFor()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-results')).toEqual([])

  await page.getByRole('tab', { name: 'Erros' }).click()
  await page.getByText('Your input was <script>flagged</script>').first().waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-errors')).toEqual([])
  ai.behave(ok())
  await press(page, 'Reprocessar apenas erros')
  await page.getByText('2 documentos com erro de volta à fila').waitFor()
  await page.locator('[data-sentence=CONCLUIDO]').getByText('Concluído', { exact: true }).waitFor()
  await page.getByText('Nenhum documento com erro', { exact: true }).waitFor()

  await page.getByRole('navigation', { name: 'Classificador' }).getByRole('link', { name: 'Classificador' }).click()
  await page.getByRole('row', { name: /Contratos .*200 \/ 200/ }).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-executions')).toEqual([])
  await page.getByRole('tab', { name: 'Projetos' }).click()
  await page.getByText('Petição Inicial').waitFor()
  expect(await violations(page)).toEqual([])
  expect(problems.filter(each => !isOfStop(each))).toEqual([])
  void worker
})

test('documents hang, the execution stalls, the reason and the route are on the page, and "Continuar de onde parou" finishes it', async () => {
  let isDown = true
  const { engine, url, passes } = await standInClassifier({ isDown: () => isDown })
  await using worker = await engine.work({ queues: { classifier: 20 } })
  const { page, problems } = await openPage(`${url}classificador/`)
  await newProject(page)
  const names = ['a.txt', 'b.txt', ...Array.from({ length: 20 }, (_, n) => `trava-${n + 1}.txt`), 'c.txt']
  await drop(
    page,
    names.map(name => ({ name, text: `texto de ${name}` })),
  )
  await press(page, 'Classificar 23 documentos')
  await page.getByText('2 de 23 documentos').first().waitFor()
  const [id] = /\d+$/.exec(page.url())!
  const read = async () => (await fetch(`${url}execucoes/${id}/status-detalhado`)).json()
  passes(5)
  await until(async () => ((await read()) as { segundos_sem_progresso: number }).segundos_sem_progresso >= 60)
  // Time almost stands still until the page has read the status: the stall comes after four more minutes.
  passes(0.01)
  await page
    .locator('[data-sentence=idle]')
    .getByText(/^Sem progresso há \d+ s$/)
    .waitFor()
  passes(5)
  const stalled = page.locator('[data-sentence=TRAVADO]')
  await stalled.getByText('A classificação travou').waitFor()
  passes(0.5)
  await stalled
    .getByText(/nenhum documento terminou em 5 min/i)
    .first()
    .waitFor()
  await stalled.getByText(/Rota afetada: \/classificador\/ · retomadas: 0 de 3/).waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-stalled')).toEqual([])
  isDown = false
  await press(page, 'Continuar de onde parou')
  await page.getByText('21 documentos de volta à fila: a execução continua de onde parou').waitFor()
  await page.locator('[data-sentence=CONCLUIDO]').getByText('Concluído', { exact: true }).waitFor()
  await page.getByText('23 de 23 documentos').first().waitFor()
  expect(problems).toEqual([])
  void worker
})

test('a provider without credit pauses the execution with its words; a viewer sees everything and can press nothing', async () => {
  const { engine, url } = await standInClassifier({ isDown: () => true, isOpen: false })
  const admin = await engine.tokens.create({ user: 'ana', role: 'admin' })
  const viewer = await engine.tokens.create({ user: 'rui', role: 'viewer' })
  const ask = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${admin.token}` }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { id: string }
  }
  const project = await ask('projetos', { nome: 'Contratos', categorias: ['Contrato'] })
  const documentos = ['a', 'falha', 'crédito'].map(codigo => ({ codigo, texto: `texto de ${codigo}` }))
  const { id } = await ask('execucoes', { projeto_id: project.id, documentos })
  await using worker = await engine.work({ queues: { classifier: 1 } })

  const { page, problems } = await openPage(`${url}classificador/execucoes/${id}`)
  await page.getByLabel('Token').fill(viewer.token)
  await press(page, 'Entrar')
  const paused = page.locator('[data-sentence=PAUSADO]')
  await paused.getByText(/Insufficient credits/).waitFor()
  await page.getByRole('button', { name: 'Baixar resultados' }).waitFor()
  for (const name of ['Continuar', 'Reprocessar apenas erros', 'Pausar', 'Mais ações'])
    expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0)
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'classifier-viewer')).toEqual([])
  await page.goto(`${url}classificador/nova`)
  await page.getByText('Seu acesso é de leitura').waitFor()
  expect(problems.filter(each => !/401/.test(each))).toEqual([])
  void worker
})

test('an upload goes on while another page is shown, and its end takes nobody away from that page', async () => {
  const { url } = await webApp({ systems: [classifier()] })
  const { page } = await openPage(`${url}classificador/`)
  await newProject(page)
  const server: { answer?: (how: 'answer' | 'break') => void } = {}
  await page.route(/\/execucoes$/, async route => {
    if (route.request().method() !== 'POST') return route.fallback()
    const how = await new Promise<'answer' | 'break'>(resolve => {
      server.answer = resolve
    })
    return how === 'answer' ? route.fallback() : route.abort()
  })
  const leave = async () => {
    await expect.poll(() => server.answer).toBeDefined()
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  }
  await drop(page, [{ name: 'a.txt', text: 'D-1 é um contrato.' }])
  await press(page, 'Classificar 1 documento')
  await leave()
  server.answer!('break')
  await page.getByText(/^O envio não terminou: A conexão caiu/).waitFor()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await press(page, 'Voltar ao envio')
  await page.getByText('a.txt', { exact: true }).waitFor()
  delete server.answer
  await press(page, 'Tentar de novo')
  await leave()
  server.answer!('answer')
  await page.getByText('1 documento na fila').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor()
  await press(page, 'Abrir')
  await page.waitForURL(/\/classificador\/execucoes\/\d+$/)
})

test('an upload that a person stops says how many executions exist', async () => {
  const { url } = await webApp({ systems: [classifier()] })
  const { page } = await openPage(`${url}classificador/`)
  await newProject(page)
  let asked = 0
  await page.route(/\/execucoes$/, route => {
    if (route.request().method() !== 'POST') return route.fallback()
    return ++asked === 1 ? route.fulfill({ json: { id: '1', total: 2000 } }) : undefined
  })
  await drop(
    page,
    Array.from({ length: 2001 }, (_, n) => ({ name: `${n}.txt`, text: 'x' })),
  )
  await press(page, 'Classificar 2.001 documentos')
  await expect.poll(() => asked).toBe(2)
  await press(page, 'Parar o envio')
  await page.getByText('Envio interrompido; 1 execução já foi criada').waitFor()
})

test('a correction is shown at once while the execution runs, also on a page of results that had ended', async () => {
  const { engine, url } = await standInClassifier({ isDown: () => true })
  await using worker = await engine.work({ queues: { classifier: 2 } })
  const { page } = await openPage(`${url}classificador/`)
  // Two pages of one document each.
  await page.route(/\/resultados\?/, async route => {
    const isFirst = !route.request().url().includes('after=second')
    const response = await route.fetch({
      url: route
        .request()
        .url()
        .replace(/&?after=second/, ''),
    })
    const { items } = (await response.json()) as { items: object[] }
    return route.fulfill({
      json: isFirst ? { items: items.slice(0, 1), next: 'second' } : { items: items.slice(1), next: null },
    })
  })
  await newProject(page)
  await drop(page, [
    { name: 'a.txt', text: 'texto de a' },
    { name: 'trava-1.txt', text: 'texto de trava' },
  ])
  await press(page, 'Classificar 2 documentos')
  await page.getByText('1 de 2 documentos').first().waitFor()
  await press(page, 'Ver a.txt')
  await page.getByRole('dialog').getByLabel('Categoria certa').selectOption('Outros')
  await press(page, 'Corrigir')
  await page.getByRole('dialog').getByText('Corrigida', { exact: true }).waitFor()
  void worker
})
