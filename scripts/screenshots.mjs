/**
 * Takes the pictures of the dashboard from seeded data: `npm run screenshots` writes those of the README and of the docs (docs/images/,
 * both themes), `npm run screenshots -- --all FOLDER [--only NAME]` every page and state at 380, 1280 and 2560 px, for a person to look at.
 * The server, its PostgreSQL and the browser are private and end with the script.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { inRoot } from './lib/paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const { values: asked } = parseArgs({
  options: {
    all: { type: 'string' },
    only: { type: 'string', default: '' },
    widths: { type: 'string', default: '380,1280,2560' },
    themes: { type: 'string', default: 'light,dark' },
  },
})
await setup({ build: true }).catch(giveUp)

const { openBrowser } = await import('./screenshots/browser.mjs')
const { createWorld } = await import('./screenshots/world.mjs')
const { documentedPages, everyPage } = await import('./screenshots/pages.mjs')

const folder = asked.all ?? inRoot('docs', 'images')
await mkdir(folder, { recursive: true })
const world = await createWorld()
const browser = await openBrowser()
try {
  if (asked.all === undefined) await take(documentedPages, [1280])
  else await take(everyPage, asked.widths.split(',').map(Number))
} finally {
  await browser.close()
  await world.close()
}

/** A palette of 256 colours: a third of the bytes, and a page has no more. */
function small(picture) {
  // The package snaps has sharp; the repository alone does not need it.
  const sharp = createRequire(inRoot('apps', 'snaps', 'package.json'))('sharp')
  return sharp(picture).png({ palette: true, compressionLevel: 9, effort: 10 }).toBuffer()
}

/** One browser context for a page and theme, so that no page sees the stored settings of another page. */
async function take(pages, widths) {
  for (const { name, path, act = () => {}, after = () => {}, state = 'work', locale = 'pt-BR' } of pages) {
    if (!new RegExp(asked.only).test(name)) continue
    for (const theme of asked.themes.split(',')) {
      for (const width of widths) {
        const page = await browser.open({
          size: { width, height: width === 380 ? 800 : (width * 5) / 8 },
          theme,
          locale,
        })
        const suffix = asked.all === undefined ? theme : `${width}-${theme}`
        try {
          await page.goto(world.url(state, typeof path === 'function' ? path(world.facts) : path))
          await page.locator('h1').first().waitFor()
          await page.waitForTimeout(700)
          await act(page, world)
          await page.waitForTimeout(300)
          const picture = await page.screenshot({ fullPage: asked.all !== undefined })
          await writeFile(
            join(folder, `${name}-${suffix}.png`),
            asked.all === undefined ? await small(picture) : picture,
          )
        } catch (error) {
          console.error(`${name} ${suffix}: ${error.message.split('\n')[0]}`)
          process.exitCode = 1
        }
        await page.context().close()
        await after(world)
      }
    }
    console.log(name)
  }
}
