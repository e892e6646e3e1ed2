/** Real worker processes, killed in the middle of an execution. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createEngine } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { sqlOn } from '../../../test/support/application.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { createJobs } from '../jobs.ts'
import { late } from './behaviours.ts'
import { execute, expectBooksToAdd, seenIn, serverForTest } from './executions.ts'

const script = fileURLToPath(new URL('./guest.mjs', import.meta.url))

function hire(...given: string[]): { child: ChildProcess; ready: Promise<void> } {
  const child = spawn(process.execPath, [script, ...given], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ready: new Promise(resolve => child.stdout!.once('data', () => resolve())) }
}

test('all workers are killed in mid-execution: it goes on, no kept answer is bought again, only what was in flight is asked again', async () => {
  const { url, drop } = await migratedDatabase()
  onTestFinished(drop)
  const server = await serverForTest()
  server.behave(late(100))
  const jobs = createJobs({ openRouter: { baseUrl: server.baseUrl, key: server.key, model: undefined } })
  const { classification, limits } = jobs
  const systems = [{ name: 'classifier', migrations: new URL('../sql/', import.meta.url) }]
  const engine = await createEngine({ databaseUrl: url, jobs: jobs.jobs, batches: [classification], limits, systems })
  onTestFinished(() => engine.close())
  const sql = await sqlOn({ databaseUrl: url })
  const made = await execute(engine, jobs, sql, { documents: 100 })

  const workers = [hire(url, server.baseUrl, server.key), hire(url, server.baseUrl, server.key)]
  await Promise.all(workers.map(each => each.ready))
  await until(async () => (await engine.batch(made.batch))!.succeeded >= 30)
  for (const { child } of workers) child.kill('SIGKILL')
  await Promise.all(workers.map(({ child }) => new Promise(resolve => child.once('close', resolve))))
  await until(() => server.inFlight() === 0)
  const before = server.calls.length
  const running = (await engine.batch(made.batch))!.running
  const kept = await sql<{ document: string }>(
    `select substring(d.text from 'D-\\d+') as document
     from retoma.checkpoint c join classifier.document d on d.job_id = c.job_id where c.name = 'answer 1'`,
  )
  expect(kept.length).toBeGreaterThanOrEqual(30)
  expect(kept.length).toBeLessThan(100)
  // The next worker sees the end of the killed processes, and need not wait 20 s for missing heartbeats.
  await hire(url, server.baseUrl, server.key).ready
  expect(await engine.wait({ batch: made.batch })).toMatchObject({ state: 'succeeded', succeeded: 100, failed: 0 })
  const again = new Set(server.calls.slice(before).map(call => call.document))
  expect(kept.filter(({ document }) => again.has(document))).toEqual([])
  expect(running).toBeLessThanOrEqual(20)
  expect(server.calls.length).toBeLessThanOrEqual(100 + running)
  expect((await seenIn(sql, made.run)).every(each => each.category === 'Contrato' && each.failures === 0)).toBe(true)
  await expectBooksToAdd(sql, made.run, 100 * 0.0012)
})
