/**
 * PDFs that are slow to read, beside another execution with a single text: with the classifier's own jobs, limits and a real worker. The
 * readers wait for a file.
 */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { minutes } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { coreCount } from '../../../src/lib/process/core-count.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { liveEngine, until } from '../../../test/support/engine.ts'
import type { extractText as ExtractText } from '../extract/index.ts'
import { createJobs } from '../jobs.ts'
import { execute, type Made, seenIn, serverForTest } from './executions.ts'

const slow = vi.hoisted(() => ({ go: '' }))

vi.mock('../extract/index.ts', async original => {
  const real = await original<{ extractText: typeof ExtractText }>()
  const extractText: typeof ExtractText = async (ctx, source) => {
    if ('text' in source) return real.extractText(ctx, source)
    const reader = new URL('../../../test/isolation/called.mjs', import.meta.url)
    await ctx.isolated('text', reader, { do: 'await', note: slow.go }, { timeout: minutes(5) })
    return real.extractText(ctx, { text: 'é um contrato', name: source.name })
  }
  return { ...real, extractText }
})

test('PDFs that wait for a reader delay no neighbour, and lose no try for the time in which they wait', async () => {
  const cores = coreCount()
  const folder = await mkdtemp(join(tmpdir(), 'retoma-slow-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  slow.go = join(folder, 'go')
  const server = await serverForTest()
  const openRouter = { key: server.key, baseUrl: server.baseUrl, model: undefined, concurrency: cores + 1 }
  const jobs = createJobs({ openRouter })
  const { classification, limits, queues } = jobs
  const { engine, url } = await liveEngine(jobs.jobs, { batches: [classification], limits })
  jobs.attach(engine)
  const sql = await sqlOn({ databaseUrl: url })
  const made = (documents: Made['documents']) => execute(engine, jobs, sql, { documents, retries: 0 })
  await engine.work({ queues })

  const { id: file } = await engine.files.put([Buffer.from('%PDF-1.7')], { name: 'a.pdf', type: 'application/pdf' })
  const pdfs = await made(Array.from({ length: 4 * cores }, () => ({ file })))
  // All readers are busy, and all other documents have found no free reader.
  await until(async () => {
    const [line] = await sql<{ running: number; back: number }>(
      `select count(*) filter (where state = 'running')::int as running, count(*) filter (where state = 'waiting' and uncounted_attempts > 0)::int as back
       from retoma.job where batch_id = $1`,
      [pdfs.batch],
    )
    return line!.running === cores && line!.back === 3 * cores
  })
  const text = await made(['D-1 é um contrato de locação.'])
  await engine.wait({ batch: text.batch })
  expect(await seenIn(sql, text.run)).toMatchObject([{ state: 'succeeded', category: 'Contrato', starts: 1 }])
  expect(await engine.batch(pdfs.batch)).toMatchObject({ state: 'running', succeeded: 0, failed: 0 })

  writeFileSync(slow.go, '')
  await engine.wait({ batch: pdfs.batch })
  const read = await seenIn(sql, pdfs.run)
  expect(read).toHaveLength(4 * cores)
  for (const each of read) expect(each).toMatchObject({ state: 'succeeded', starts: 1, failures: 0 })
})
