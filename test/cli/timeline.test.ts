/** `jobs show` shows the history of a job in the order of time, in 80 columns, in both languages, and with `--logs` its log lines. */
import { expect, onTestFinished, test } from 'vitest'
import { timelineLines } from '../../src/cli/format/timeline-lines.ts'
import { messagesIn } from '../../src/cli/messages/index.ts'
import type { Output } from '../../src/cli/output.ts'
import { openDb } from '../../src/database/db.ts'
import { defineJob, hours, minutes, seconds } from '../../src/index.ts'
import { jobDetailWire } from '../../src/json-views.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { engineWith } from '../support/engine.ts'
import { answer, folderWith, run } from './support.ts'

/** It sleeps, fails twice, loses its worker, is run anew by a person, and ends. */
async function eventful() {
  let broken = true
  const job = defineJob({
    kind: 'k',
    maxAttempts: 2,
    backoff: { first: seconds(30), jitter: 0 },
    run: async ctx => {
      await ctx.step('extract', () => 'x'.repeat(1200))
      await ctx.sleep('let the provider rest', minutes(10))
      await ctx.each('pages', ['a', 'b', 'c'], page => page)
      if (broken) throw new Error(`the provider says no, and it says so at great length: ${'no '.repeat(20)}`)
      return 'done'
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  await t.clock.advance(minutes(10))
  await t.run()
  await t.clock.advance(seconds(30))
  await t.run()
  await t.engine.jobs.retry(id)
  const db = openDb({ url: t.databaseUrl, log: silentLog, connections: 1 })
  onTestFinished(() => db.close())
  const lost = `update retoma.job set state = 'running', attempt = attempt + 1, worker_id = 'gone', started_at = $2 where id = $1`
  await db.run({ name: '', text: lost }, [id, t.clock.now()])
  await t.clock.advance(hours(1))
  await t.tick()
  broken = false
  await t.run()
  return (await t.engine.job(id))!
}

/** Instants are in this machine's time. */
const plain = (line: string) => line.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'T').replaceAll(/ +/g, ' ')

test.each(['en', 'pt'] as const)('a job that slept, failed, was recovered and finished (%s)', async language => {
  const job = await eventful()
  const lines = timelineLines(job, { word: messagesIn[language], language } as Output)
  const expected = {
    en: [
      'enqueued', '#1 saved extract, ', '#1 sleeps until T: let the provi', '#2 started', '#2 saved pages, ', '#2 saved 3 of pages, ',
      '#2 failed: the provider says no, and it says so ', '#3 started', '#3 failed: the provider says no', 'action: retry', '#4 started',
      '#4 its worker died',
      '#5 started', '#5 succeeded',
    ],
    pt: [
      'enfileirado', '#1 guardou extract, ', '#1 dorme até T: let the provi', '#2 iniciado', '#2 guardou pages, ', '#2 guardou 3 de pages, ',
      '#2 falhou: the provider says no, and it says so ', '#3 iniciado', '#3 falhou: the provider says no', 'ação: retry',
      '#4 iniciado', '#4 o worker morreu', '#5 iniciado', '#5 teve sucesso',
    ],
  } // biome-ignore format: one line for each
  expect(lines).toHaveLength(expected[language].length)
  for (const [index, text] of expected[language].entries()) expect(plain(lines[index]!)).toContain(text)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
})

test('as JSON every moment is there by itself, with its instant', async () => {
  const { timeline } = jobDetailWire(await eventful())
  expect(timeline.map(each => each.type)).toEqual([
    'enqueued', 'saved', 'slept', 'started', 'saved', 'saved', 'saved', 'saved', 'failed', 'started', 'failed', 'action', 'started',
    'failed', 'started', 'succeeded',
  ]) // biome-ignore format: read as one list
  expect(timeline[1]).toMatchObject({ at: expect.any(Date), attempt: 1, step: 'extract', bytes: expect.any(Number) })
})

test('jobs show has the log lines of the job with --logs alone, as lines and as JSON, and a control character stays visible', async () => {
  const job = defineJob({
    kind: 'k',
    run(ctx) {
      ctx.log.info({ page: 3 }, 'page read')
      ctx.log.warn('slow\u001b[31m page')
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  const given = { folder: folderWith({}, 'file'), env: { DATABASE_URL: t.databaseUrl } }
  expect((await run(['jobs', 'show', id], given)).stdout).not.toContain('page read')
  const { stdout } = await run(['jobs', 'show', id, '--logs'], given)
  expect(stdout).toMatch(/^ {2}1 {2}\S+Z info {2}page read page=3$/m)
  expect(stdout).toMatch(/^ {2}1 {2}\S+Z warn {2}slow.* page$/m)
  expect(stdout).not.toContain('\u001b')
  expect(await answer(['jobs', 'show', id, '--logs'], given)).toMatchObject({
    logs: [
      { attempt: 1, n: 1, level: 'info', message: 'page read', facts: { page: 3 } },
      { n: 2, level: 'warn' },
    ],
  })
})
