/** A handler that is itself in a thread or a process asks its parent for `ctx.isolated`, and sees no difference. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/engine.ts'
import { jobIn } from './jobs.ts'
import { isAlive, workingOn } from './support.ts'

async function fileToWrite(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-nested-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'pid')
}

async function writtenIn(file: string): Promise<number> {
  await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
  return Number(readFileSync(file, 'utf8'))
}

test.each(['thread', 'process'] as const)(
  '%s: what was called has a process of its own, which may die',
  async place => {
    const job = jobIn(place, { maxAttempts: 1 })
    const { ends } = await workingOn(job)
    const { result } = await ends(job, { do: 'callInVain' })
    expect(result).toMatchObject({ code: 'isolated_crash', facts: { step: 'called', exitCode: 7 } })
    const called = (await ends(job, { do: 'answer' })).result as { at: string }
    // Its own child was not touched by that.
    expect(called.at).toBe((result as { at: string }).at)
    expect(await ends(job, { do: 'call', note: 'x' })).toMatchObject({ state: 'succeeded', result: { note: 'x' } })
  },
)

test('a suspect that runs alone, in a process of its own, can call as well', async () => {
  const job = jobIn('inline')
  const { engine, sql } = await workingOn(job)
  const { id } = await engine.enqueue(job, { do: 'callInVain' }, { delay: 60_000 as never })
  await sql(`update retoma.job set crash_suspicion = '{"level": 2}', run_at = now() where id = $1`, [id])
  const { result } = await engine.wait({ job: id })
  expect(result).toMatchObject({ code: 'isolated_crash' })
  expect((result as { at: string }).at).not.toBe(`${process.pid}/0`)
})

test('what it has called ends with the handler: when that dies, and when its worker stops', async () => {
  const job = jobIn('process', { maxAttempts: 1 })
  const { engine, ends, worker } = await workingOn(job)
  const dying = await fileToWrite()
  expect(await ends(job, { do: 'dieCalling', note: dying })).toMatchObject({ state: 'failed', crashes: 1 })
  expect(isAlive(await writtenIn(dying))).toBe(false)
  const spinning = await fileToWrite()
  const { id } = await engine.enqueue(job, { do: 'callSpinning', note: spinning })
  const pid = await writtenIn(spinning)
  await worker.stop()
  expect(isAlive(pid)).toBe(false)
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0, crashes: 0, restarts: 0 })
})
