/**
 * Good documents among 50 hostile documents, read by a real worker: the good documents succeed, and only the bad documents fail. With 200
 * good documents and over HTTP: `npm run prove -- --only classifier`.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob, seconds, skip } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { liveEngine } from '../../../test/support/engine.ts'
import { childrenOf } from '../../../test/support/processes.ts'
import { extractText } from '../extract/index.ts'
import { hostilePdfs } from './hostile.ts'
import { goodPdf } from './pdfs.ts'

interface File {
  path: string
  name: string
  /** The file may loop for ever, and gets a shorter timeout than a document that a person wants to have read. */
  spins: boolean
}

const spunEnough = seconds(3)

const read = defineJob<File>({
  kind: 'read',
  run: async (ctx, { spins, ...file }) => {
    const extracted = await extractText(ctx, file, { ocrPages: 2, ...(spins ? { timeout: spunEnough } : {}) })
    return 'skip' in extracted ? skip(extracted.skip) : extracted
  },
})

const childrenHere = () => childrenOf(process.pid)

const textOf = (number: number) =>
  Array.from({ length: 1 + (number % 3) }, (_, page) => `Contrato nº ${number}, página ${page + 1}\nação e cobrança`)

test('good ones among 50 hostile ones are read; each bad one ends for good within its time, and says why', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-extract-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine } = await liveEngine([read])
  const before = childrenHere()
  const worker = await engine.work({ queues: { default: 20 } })
  const { id: incarnation } = worker
  const ended = async (index: string, name: string, bytes: Buffer, spins: boolean) => {
    const path = join(folder, index)
    await writeFile(path, bytes)
    const { id } = await engine.enqueue(read, { path, name, spins })
    const job = await engine.wait({ job: id })
    expect(job, name).toMatchObject({ failures: job.state === 'failed' ? 1 : 0, crashes: 0, restarts: 0 })
    return job
  }
  const bad = hostilePdfs()
  expect(bad).toHaveLength(50)
  const good = Array.from({ length: 40 }, (_, number) => textOf(number))

  const [goodEnds, badEnds] = await Promise.all([
    Promise.all(good.map((text, number) => ended(`g${number}`, `${number}.pdf`, goodPdf(text), false))),
    Promise.all(bad.map(({ name, bytes, ends }, n) => ended(`b${n}`, name, bytes, ends.includes('pdf_timeout')))),
  ])
  expect(goodEnds.map(({ result }) => result)).toEqual(
    good.map(pages => ({
      text: pages.join('\n'),
      pages: pages.length,
      note: null,
      ocr: null,
      saved: { kind: 'pdf', ocrProblem: null },
    })),
  )
  for (const [number, { state, error }] of badEnds.entries()) {
    const { name, ends } = bad[number]!
    const how = state === 'skipped' ? 'skip' : error?.code
    expect(ends, `${name} ended as ${how}: ${error?.message}`).toContain(how)
    expect(error!.message, name).toMatch(/^(o PDF|o arquivo|a leitura do PDF|PDF sem texto|arquivo vazio)/)
  }
  expect(worker.id).toBe(incarnation)
  await worker.stop()
  expect(childrenHere()).toEqual(before)
})

test.skipIf(process.platform !== 'linux')('the process that reads a PDF has no secret in its environment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-extract-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const secret = 'the-key-of-this-test'
  process.env.OPENROUTER_API_KEY = secret
  onTestFinished(() => void delete process.env.OPENROUTER_API_KEY)
  const { engine } = await liveEngine([read])
  const before = childrenHere()
  await engine.work()
  const path = join(folder, 'a.pdf')
  await writeFile(path, goodPdf('texto'))
  const { id } = await engine.enqueue(read, { path, name: 'a.pdf', spins: false })
  expect(await engine.wait({ job: id })).toMatchObject({ result: { text: 'texto' } })
  // The child stays for the next document.
  const [reader, ...others] = childrenHere().filter(pid => !before.includes(pid))
  expect(others).toEqual([])
  const environment = readFileSync(`/proc/${reader}/environ`, 'utf8')
  expect(environment).toContain('PATH=')
  expect(environment).not.toContain(secret)
  expect(environment).not.toMatch(/DATABASE|TOKEN|SECRET|KEY/)
})
