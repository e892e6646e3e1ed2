/** The browser of the pictures: Chromium of the package, or that of CHROMIUM_PATH. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export async function openBrowser() {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-browser-'))
  const env = { ...process.env, TMPDIR: folder, HOME: folder }
  const path = process.env.CHROMIUM_PATH
  const browser = await chromium.launch(
    path === undefined ? await packaged(folder, env) : { executablePath: path, env, args: ['--no-sandbox'] },
  )
  return {
    async open({ size, theme, locale }) {
      const context = await browser.newContext({
        locale,
        timezoneId: 'America/Sao_Paulo',
        viewport: size,
        colorScheme: theme,
        reducedMotion: 'reduce',
      })
      context.setDefaultTimeout(20_000)
      return context.newPage()
    },
    async close() {
      await browser.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function packaged(folder, env) {
  // The package reads TMPDIR when the package is loaded.
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  const { default: packagedChromium } = await import('@sparticuz/chromium')
  packagedChromium.setGraphicsMode = false
  const executablePath = await packagedChromium.executablePath()
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  const args = packagedChromium.args.filter(each => !/single-process|no-zygote/.test(each))
  return { executablePath, env, args, chromiumSandbox: false }
}
