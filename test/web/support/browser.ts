/**
 * Pages of the shared browser. Each page reports what must never happen: an error of the console, a request to another host, a
 * violation of the content security policy.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { inject } from 'vitest'
import { onTestFinished } from '../../support/together.ts'

let connected: Promise<Browser> | undefined

/** One connection for each process; the global set-up ends the browser. */
function browser(): Promise<Browser> {
  connected ??= chromium.connect(inject('browserUrl'))
  return connected
}

export interface OpenPage {
  page: Page
  /** Errors of the console and of scripts, refused requests, requests to other hosts. */
  problems: string[]
}

export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await (await browser()).newContext({
    locale: 'pt-BR',
    timezoneId: 'America/Sao_Paulo',
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  // No promise: only what ends a wait that hangs, as in vitest.config.ts.
  context.setDefaultTimeout(250_000)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  const { host } = new URL(url)
  page.on('console', message => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', error => problems.push(String(error)))
  page.on('request', request => {
    const asked = new URL(request.url())
    if (/^(https?|wss?):$/.test(asked.protocol) && asked.host !== host) problems.push(`another host: ${asked.href}`)
  })
  await page.goto(url)
  return { page, problems }
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** The violations of WCAG 2 A and AA on the page, each with the elements. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated as the debugger does, because the policy of the page allows no other script.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(axePath, 'utf8'))
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[] }>
      }
    }
    const found = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)}: ${failureSummary.slice(0, 300)}`),
    )
  })
}

const widths = [380, 1280, 2560]
const folder = process.env.RETOMA_TEST_SCREENSHOTS ?? fileURLToPath(new URL('../../../.screenshots', import.meta.url))

/** Besides the light theme at 1280 px, which tests look at by themselves at each step. */
const isChecked = (theme: 'light' | 'dark', width: number) =>
  (theme === 'light' && width === 380) || (theme === 'dark' && width === 1280)

/**
 * Takes the page at three widths in both themes into .screenshots/ (or RETOMA_TEST_SCREENSHOTS): NAME-380-light.png and so on. Returns
 * the widths at which the page scrolls sideways, and the violations of WCAG on a narrow screen and in the dark theme.
 */
export async function screenshots(page: Page, name: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  const found: string[] = []
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    for (const width of widths) {
      await page.setViewportSize({ width, height: width === 380 ? 780 : width === 1280 ? 800 : 1440 })
      // For some frames a window that was just made narrow may still have the layout of the wide window.
      const scrolls = await page.evaluate(async () => {
        const isSideways = () => document.documentElement.scrollWidth > document.documentElement.clientWidth
        for (let frames = 0; frames < 2 || (isSideways() && frames < 60); frames++)
          await new Promise(resolve => requestAnimationFrame(resolve))
        return isSideways()
      })
      if (scrolls) found.push(`${name} ${width}: scrolls sideways`)
      await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`) })
      if (isChecked(theme, width))
        found.push(...(await violations(page)).map(each => `${name} ${width} ${theme}: ${each}`))
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 800 })
  return found
}

/** What the console says about requests while the server is stopped. */
export const isOfStop = (problem: string): boolean =>
  /ERR_CONNECTION_(?:REFUSED|RESET)|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/.test(problem)

/** The server goes, the page marks its numbers with the time of the last one; the server comes back, and the mark goes. */
export async function goesAndComesBack(
  page: Page,
  server: { stop(): Promise<void>; start(): Promise<void> },
): Promise<void> {
  await server.stop()
  await page.getByText(/Conexão perdida, tentando de novo · último número às \d\d:\d\d:\d\d/).waitFor()
  await server.start()
  await page.locator('[data-live=live]').waitFor()
}
