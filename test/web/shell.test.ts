/** The shell of the dashboard in a real browser: below any base path, within its policy, for every reader. */
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { webApp } from './support/app.ts'
import { goesAndComesBack, openPage, screenshots, violations } from './support/browser.ts'

const letter = defineJob({ kind: 'letter', queue: 'letters', run: () => 'sent' })

test.each(['', '/retoma'])(
  'the shell loads below "%s", in Portuguese, without an error and without another host',
  async basePath => {
    const { url } = await webApp({ basePath })
    const { page, problems } = await openPage(url)
    await page.getByRole('heading', { level: 1, name: 'Visão geral' }).waitFor()
    await page.locator('[data-live=live]').waitFor()
    await page.getByRole('link', { name: 'Lotes', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Lotes' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`${basePath}/batches`)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Lotes' }).waitFor()
    await page.getByRole('button', { name: 'Switch to English' }).click()
    await page.getByRole('heading', { level: 1, name: 'Batches' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('en')
    expect(problems).toEqual([])
  },
)

test('the shell has no violation of WCAG AA and does not scroll sideways', async () => {
  const { url } = await webApp()
  const { page } = await openPage(url)
  await page.locator('[data-live=live]').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'shell')).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await violations(page)).toEqual([])
})

test('the keyboard reaches everything: skip link, command palette, menus', async () => {
  const { url } = await webApp()
  const { page, problems } = await openPage(url)
  await page.locator('[data-live=live]').waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Ir para o conteúdo')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('agend')
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Agendas' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('4711')
  await page.keyboard.press('Enter')
  await expect.poll(() => new URL(page.url()).pathname).toBe('/jobs/4711')
  await page.getByRole('button', { name: 'Tema' }).click()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  await page.reload()
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  expect(problems.filter(each => !each.includes('404'))).toEqual([])
})

test('the palette finds queues, refs and actions, and lists no page that the role does not see', async () => {
  const { url, engine } = await webApp({ role: 'viewer', jobs: [letter] })
  await engine.enqueue(letter)
  const { page, problems } = await openPage(url)
  await page.locator('[data-live=live]').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('option', { name: 'Configuração' }).waitFor()
  expect(await page.getByRole('option', { name: 'Tokens' }).count()).toBe(0)
  await page.getByRole('combobox').fill('escuro')
  await page.keyboard.press('Enter')
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('lett')
  await page.getByRole('option', { name: 'Filas › letters' }).waitFor()
  await page.getByRole('option', { name: 'Jobs com a ref lett' }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('?ref=lett')
  expect(problems).toEqual([])
})

test('on a narrow screen the navigation is a drawer', async () => {
  const { url } = await webApp()
  const { page } = await openPage(url, { viewport: { width: 380, height: 780 } })
  await page.getByRole('button', { name: 'Abrir o menu' }).click()
  expect(await violations(page)).toEqual([])
  await page.getByRole('link', { name: 'Filas' }).click()
  await page.getByRole('heading', { level: 1, name: 'Filas' }).waitFor()
  expect(await page.getByRole('navigation').isVisible()).toBe(false)
})

test('the focus stays in the drawer, returns after a dialog, and goes to the title of a new page', async () => {
  const { url } = await webApp()
  const { page, problems } = await openPage(url, { viewport: { width: 380, height: 780 } })
  await page.locator('[data-live=live]').waitFor()
  const focused = () =>
    page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent)
  const button = page.getByRole('button', { name: 'Abrir o menu' })
  await button.click()
  await page.getByRole('link', { name: 'Configuração' }).focus()
  for (let presses = 0; presses < 8; presses++) {
    await page.keyboard.press('Tab')
    // Between the last and the first element of the drawer the focus is in the window of the browser, and the page has none.
    const isOutside = await page.evaluate(() => !document.activeElement?.matches('body, dialog, dialog *'))
    expect(isOutside).toBe(false)
  }
  await page.getByRole('button', { name: 'Fechar o menu' }).click()
  await expect.poll(focused).toBe('Abrir o menu')
  await button.click()
  await page.getByRole('link', { name: 'Filas' }).click()
  await expect.poll(focused).toBe('Filas')
  expect(problems).toEqual([])
})

test('a lost connection is marked with the time of the last number, and comes back by itself', async () => {
  const app = await webApp()
  const { page } = await openPage(app.url)
  await page.locator('[data-live=live]').waitFor()
  await goesAndComesBack(page, app)
})

test('a hostile query, fragment and name in the address stay text and lead nowhere else', async () => {
  const { url } = await webApp()
  const hostile = encodeURIComponent('"><img src=x onerror="document.title=1"><script>document.title=2</script>')
  const { page, problems } = await openPage(`${url}jobs?ref=${hostile}&state=${hostile}&after=${hostile}#${hostile}`)
  await page.getByText('Nenhum job com este filtro').waitFor()
  for (const path of [
    `queues/${hostile}`,
    `schedules/${hostile}`,
    `batches/${hostile}?ref=${hostile}`,
    `jobs/${hostile}`,
    '/evil.example/',
  ]) {
    await page.goto(url + path)
    await page
      .getByText(/não existe|não encontrad/i)
      .first()
      .waitFor()
    expect([path, await page.title(), new URL(page.url()).origin]).toEqual([
      path,
      expect.stringMatching(/Retoma$/),
      new URL(url).origin,
    ])
  }
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  expect(problems.filter(each => !/\b40[04]\b/.test(each))).toEqual([])
})

test('two tabs share one event stream', async () => {
  const { url } = await webApp()
  const { page } = await openPage(url)
  await page.locator('[data-live=live]').waitFor()
  const second = await page.context().newPage()
  await second.goto(`${url}workers`)
  await second.locator('[data-live=live]').waitFor()
  const clients = /^retoma_sse_clients(?:\{.*\})? (\d+)$/m.exec(await (await fetch(`${url}metrics`)).text())?.[1]
  expect(clients).toBe('1')
})

test('a read that fails stays marked while other reads succeed, and its place shows the failure', async () => {
  const { url } = await webApp()
  const { page } = await openPage(`${url}workers`)
  await page.locator('[data-live=live]').waitFor()
  const away = { error: { code: 'database_unreachable', message: 'o banco não responde' } }
  await page.route('**/api/v1/stats/history**', answer => answer.fulfill({ status: 503, json: away }))
  await page.getByRole('link', { name: 'Visão geral' }).click()
  await page.getByText('o banco não responde').waitFor()
  await page.waitForResponse('**/api/v1/stats/health')
  await page.waitForResponse('**/api/v1/queues**')
  expect(await page.locator('[data-live=lost]').count()).toBe(1)
  // The read is repeated every few seconds without the button, too.
  await page.getByRole('button', { name: 'Tentar de novo' }).waitFor()
  await page.unroute('**/api/v1/stats/history**')
  await page.locator('[data-live=live]').waitFor()
  await page.getByText('Nenhum job terminou neste período').waitFor()
})

test('numbers whose reads fail are marked, also while the event stream is live', async () => {
  const { url } = await webApp()
  const { page } = await openPage(url)
  await page.locator('[data-live=live]').waitFor()
  const away = { error: { code: 'database_unreachable', message: 'o banco não responde' } }
  await page.route('**/api/v1/**', answer => answer.fulfill({ status: 503, json: away }))
  await page.getByText(/Conexão perdida, tentando de novo · último número às/).waitFor()
  await page.unroute('**/api/v1/**')
  await page.locator('[data-live=live]').waitFor()
})
