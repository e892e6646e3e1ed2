/**
 * Pictures of pages. A small program takes the place of Chromium and speaks its protocol, so that each way in which Chromium fails can
 * happen. The real program takes a picture too.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { browserProgram } from '../../../test/support/browser-program.ts'
import { createScreenshots, type ScreenshotOptions } from './screenshot.ts'

/** The answers of a browser that behaves; a picture is the text of the page. */
const good = `
import { createReadStream, createWriteStream } from 'node:fs'
const [from, to] = [createReadStream('', { fd: 3 }), createWriteStream('', { fd: 4 })]
const results = {
  'Target.createTarget': () => ({ targetId: 't' }),
  'Target.attachToTarget': () => ({ sessionId: 's' }),
  'Page.getFrameTree': () => ({ frameTree: { frame: { id: 'f' } } }),
  'Page.setDocumentContent': ({ html }) => ((globalThis.html = html), {}),
  'Page.captureScreenshot': () => ({ data: Buffer.from(JSON.stringify([globalThis.html, process.argv.slice(2), process.env])).toString('base64') }),
}
let text = ''
from.on('data', piece => {
  const messages = (text += piece).split('\\0')
  text = messages.pop()
  for (const { id, method, params } of messages.map(each => JSON.parse(each)))
    to.write(JSON.stringify({ id, result: results[method]?.(params) ?? {} }) + '\\0')
})`

const programs = {
  good,
  hangs: 'setInterval(() => {}, 1000)',
  ends: 'process.exit(1)',
  'writes garbage':
    "import { writeSync } from 'node:fs'; writeSync(4, 'no JSON\\0{}\\0[1]\\0'); setInterval(() => {}, 1000)",
  refuses: good.replace('result: results[method]?.(params) ?? {}', "error: { message: 'no' }"),
}

function program(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-fake-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // The folder of the profiles: a test sees whether a profile is left behind.
  vi.stubEnv('TMPDIR', folder)
  const path = join(folder, 'chromium.mjs')
  writeFileSync(path, `#!${process.execPath}\n${text}`)
  chmodSync(path, 0o755)
  return { path, left: () => readdirSync(folder).filter(name => name !== 'chromium.mjs') }
}

const signal = () => new AbortController().signal
const takeScreenshot = (
  given: Parameters<ReturnType<typeof createScreenshots>>[0],
  options: ScreenshotOptions,
  until: AbortSignal,
) => createScreenshots(options)(given, until)
const page = { page: Buffer.from('<h1>Água R$ 10,00</h1>', 'latin1'), contentType: 'text/html; charset=iso-8859-1' }

test('Chromium gets the text of the page, resolves no name, and knows no secret of the worker', async () => {
  vi.stubEnv('SERPAPI_API_KEY', 'secret-of-the-worker')
  const { path, left } = program(programs.good)
  const picture = await takeScreenshot(page, { chromium: path, timeoutMs: 60_000 }, signal())
  const [html, flags, environment] = JSON.parse(Buffer.from(picture!).toString()) as [string, string[], object]
  expect(html).toBe('<h1>Água R$ 10,00</h1>')
  expect(flags).toContain('--host-resolver-rules=MAP * ~NOTFOUND')
  expect(JSON.stringify(environment)).not.toContain('secret-of-the-worker')
  expect(left()).toEqual([])
})

test.each(['hangs', 'ends', 'writes garbage', 'refuses'] as const)(
  'a Chromium that %s makes no picture, and leaves nothing',
  async way => {
    const { path, left } = program(programs[way])
    const timeoutMs = way === 'hangs' || way === 'writes garbage' ? 300 : 60_000
    expect(await takeScreenshot(page, { chromium: path, timeoutMs }, signal())).toBe(null)
    expect(left()).toEqual([])
  },
)

test('without the program there is no picture; an abort ends with its reason', async () => {
  expect(await takeScreenshot(page, { chromium: '/nowhere/chromium' }, signal())).toBe(null)
  const { path, left } = program(programs.hangs)
  const over = new AbortController()
  const taken = takeScreenshot(page, { chromium: path }, over.signal)
  const reason = new Error('enough')
  over.abort(reason)
  await expect(taken).rejects.toBe(reason)
  expect(left()).toEqual([])
})

test('a process runs at most two Chromium programs at once, and each page gets its picture', async () => {
  const log = join(mkdtempSync(join(tmpdir(), 'retoma-log-')), 'log')
  onTestFinished(() => rmSync(join(log, '..'), { recursive: true, force: true }))
  const note = (mark: string) => `appendFileSync(${JSON.stringify(log)}, '${mark}')`
  // The first program answers only after a second program has started, so that two run at once on any machine.
  const waits = `while (readFileSync(${JSON.stringify(log)}, 'utf8').split('+').length < 3) await new Promise(go => setTimeout(go, 5))`
  const { path } = program(
    `${note('+')}\n${waits}\n${good
      .replace('({ data: Buffer', `(${note('-')}, { data: Buffer`)
      .replace('import { ', 'import { appendFileSync, readFileSync, ')}`,
  )
  const take = createScreenshots({ chromium: path, timeoutMs: 120_000, longestWaitMs: 240_000 })
  const pictures = await Promise.all(Array.from({ length: 7 }, () => take(page, signal())))
  expect(pictures.every(each => each !== null)).toBe(true)
  const marks = [...readFileSync(log, 'utf8')]
  let [running, most] = [0, 0]
  for (const mark of marks) {
    running += mark === '+' ? 1 : -1
    most = Math.max(most, running)
  }
  expect(marks).toHaveLength(14)
  expect(most).toBe(2)
})

test('a page that waits too long for its turn, and a page without a folder, get no picture', async () => {
  const { path, left } = program(programs.hangs)
  const take = createScreenshots({ chromium: path, mostAtOnce: 1, longestWaitMs: 30 })
  const over = new AbortController()
  const hanging = take(page, over.signal)
  expect(await take(page, signal())).toBe(null)
  over.abort(new Error('enough'))
  await expect(hanging).rejects.toThrow('enough')
  expect(left()).toEqual([])
  vi.stubEnv('TMPDIR', '/nowhere/at-all')
  expect(await take(page, signal())).toBe(null)
})

test('the real Chromium takes a picture, and a hostile page sends no request', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-chromium-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const { executablePath: chromium } = await browserProgram(folder)
  let requests = 0
  const evil = createServer((_, response) => {
    requests++
    response.end()
  })
  await new Promise<void>(resolve => evil.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void evil.close())
  const at = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`
  const html = `<meta http-equiv=refresh content="0;url=${at}/r"><img src="${at}/i"><iframe src="${at}/f"></iframe>
    <iframe src="file:///etc/passwd"></iframe><script>fetch('${at}/s')</script><style>@import url(${at}/c)</style><h1>R$ 10,00</h1>`
  const options = { chromium, timeoutMs: 120_000 }
  const picture = await takeScreenshot({ page: Buffer.from(html), contentType: 'text/html' }, options, signal())
  expect(Buffer.from(picture!).subarray(1, 4).toString()).toBe('PNG')
  expect(requests).toBe(0)
})
