/** Log-in and roles in the browser: without a token nothing is shown, and a viewer is offered no action. */
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

const hello = defineJob({ kind: 'hello', queue: 'greetings', run: () => 'hi' })
const statement = defineJob({ kind: 'statement', queue: 'bank', private: true, run: () => 'read' })

test('a wrong token is refused in words; a viewer logs in, sees, is offered no action, sees dashes in place of the numbers of private jobs, and logs out', async () => {
  const { engine, url } = await webApp({ jobs: [hello, statement] })
  await engine.queues.pause('greetings')
  await engine.enqueue(hello)
  await engine.enqueue(statement)
  const { token } = await engine.tokens.create({ user: 'ana', role: 'viewer' })
  const { page } = await openPage(`${url}queues`)
  const field = page.getByLabel('Token de acesso')
  await field.fill('rt_wrong')
  await page.getByRole('button', { name: 'Entrar' }).click()
  await page.getByText('Este token não vale.').waitFor()
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'login')).toEqual([])
  await field.fill(token)
  await page.getByRole('button', { name: 'Entrar' }).click()
  const cellsOf = (queue: string) => page.getByRole('row').filter({ hasText: queue }).getByRole('cell').allInnerTexts()
  await page.getByRole('row').filter({ hasText: 'bank' }).waitFor()
  expect((await cellsOf('greetings')).slice(1, 3)).toEqual(['1', '0'])
  expect((await cellsOf('bank')).slice(1, 3)).toEqual(['–', '–'])
  await page.getByRole('link', { name: 'Visão geral' }).click()
  await page.getByText('A fila greetings está pausada e 1 job espera').waitFor()
  expect(await page.getByRole('button', { name: 'Retomar a fila' }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0)
  expect(await page.evaluate(() => document.cookie)).toBe('')
  await page.reload()
  await page.getByRole('button', { name: 'Conta de ana' }).click()
  await page.getByRole('menuitem', { name: 'Sair' }).click()
  await field.waitFor()
  await page.reload()
  await field.waitFor()
})
