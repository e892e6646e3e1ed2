/** Chromium for a proof: from npm, as in the browser tests, or from CHROMIUM_PATH. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export async function openBrowser(room) {
  const folder = join(room.folder, 'browser')
  mkdirSync(folder)
  const browser = await chromium.launch(await launchOptions(folder))
  room.atEnd(() => browser.close())
  return browser
}

async function launchOptions(folder) {
  const env = { ...process.env, TMPDIR: folder, HOME: folder }
  const path = process.env.CHROMIUM_PATH
  if (path !== undefined) return { executablePath: path, env, args: ['--no-sandbox'] }
  // The package reads TMPDIR when the package is loaded.
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  const { default: packaged } = await import('@sparticuz/chromium')
  packaged.setGraphicsMode = false
  const executablePath = await packaged.executablePath()
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  const args = packaged.args.filter(each => !/single-process|no-zygote/.test(each))
  return { executablePath, env, args, chromiumSandbox: false }
}

/** Opens a page which counts long tasks from the first script on. */
export async function openPage(browser) {
  const context = await browser.newContext({ locale: 'pt-BR', viewport: { width: 1280, height: 800 } })
  await context.addInitScript(() => {
    globalThis.longTasks = []
    new PerformanceObserver(list => {
      for (const { startTime, duration } of list.getEntries()) globalThis.longTasks.push({ startTime, duration })
    }).observe({ type: 'longtask', buffered: true })
  })
  const page = await context.newPage()
  const reads = []
  page.on('requestfinished', request => {
    const { pathname, search } = new URL(request.url())
    const { requestStart, responseStart } = request.timing()
    if (pathname.includes('/api/')) reads.push({ path: pathname + search, ms: responseStart - requestStart })
  })
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  return {
    page,
    close: () => context.close(),
    /** The longest task since the last call, in milliseconds; tasks below 50 ms count as 0. */
    longestTask: () =>
      page.evaluate(() => {
        const longest = Math.max(0, ...globalThis.longTasks.map(each => each.duration))
        globalThis.longTasks.length = 0
        return longest
      }),
    /** Bytes of live objects, after a collection of garbage. */
    async heap() {
      await session.send('HeapProfiler.collectGarbage')
      const { metrics } = await session.send('Performance.getMetrics')
      return metrics.find(each => each.name === 'JSHeapUsedSize').value
    },
    /** Milliseconds of the first paint of content. */
    firstPaint: () =>
      page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN),
    /** Each read of the API so far: the path and the milliseconds from the request to the first byte of the answer. */
    reads: () => reads,
  }
}
