/** The shell of the dashboard in a real browser: below any base path, within its policy, for every reader. */
import { expect, test } from 'vitest'
import { webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

test.each(['', '/retoma'])(
  'the shell loads below "%s", in Portuguese, without an error and without another host',
  async basePath => {
    const { url } = await webApp({ basePath })
    const { page, problems } = await openPage(url)
    await page.getByRole('heading', { level: 1, name: 'Visão geral' }).waitFor()
    await page.locator('[data-live=live]').waitFor()
    await page.getByRole('link', { name: 'Lotes' }).click()
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
  await page.evaluate(() => {
    document.documentElement.dataset.theme = 'dark'
  })
  expect(await violations(page)).toEqual([])
})
