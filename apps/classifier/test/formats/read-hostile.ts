/** Reads hostile files by a real worker, each in a process of `ctx.isolated`, beside good documents. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob, seconds, skip } from 'retoma'
import { expect, onTestFinished } from 'vitest'
import { liveEngine } from '../../../../test/support/engine.ts'
import { extractText } from '../../extract/index.ts'
import { docxOf } from '../office-files.ts'
import type { HostileFile } from './hostile-files.ts'

const read = defineJob<{ path: string; name: string }>({
  kind: 'read',
  run: async (ctx, file) => {
    const extracted = await extractText(ctx, file, { timeout: seconds(5), ocrPages: 2 })
    return 'skip' in extracted ? skip(extracted.skip) : extracted.text.length
  },
})

/**
 * Expects that each hostile file ends for good with one of its results and a reason, that the good documents are read, and that the worker
 * survives.
 */
export async function expectHostileToEnd(bad: readonly HostileFile[], { good }: { good: number }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-hostile-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { engine } = await liveEngine([read])
  const worker = await engine.work({ queues: { default: 10 } })
  const { id: incarnation } = worker
  const ended = async (index: string, name: string, bytes: Buffer) => {
    const path = join(folder, index)
    await writeFile(path, bytes)
    const { id } = await engine.enqueue(read, { path, name })
    const job = await engine.wait({ job: id })
    expect(job, name).toMatchObject({ failures: job.state === 'failed' ? 1 : 0, crashes: 0, restarts: 0 })
    return job
  }
  const [goodEnds, badEnds] = await Promise.all([
    Promise.all(Array.from({ length: good }, (_, n) => ended(`g${n}`, `${n}.docx`, docxOf([`Contrato ${n}`])))),
    Promise.all(bad.map(({ name, bytes }, n) => ended(`b${n}`, name, bytes))),
  ])
  for (const job of goodEnds) expect(job).toMatchObject({ state: 'succeeded', result: 11 })
  const wrong = badEnds.flatMap(({ state, error }, index) => {
    const { name, ends } = bad[index]!
    const end = state === 'skipped' ? 'skip' : state === 'succeeded' ? 'text' : (error?.code ?? 'none')
    const hasReason = end === 'text' || /\S{3}/.test(error?.message ?? '')
    return ends.includes(end) && hasReason ? [] : [`${name}: ${end}, ${error?.message}`]
  })
  expect(wrong).toEqual([])
  expect(worker.id).toBe(incarnation)
}
