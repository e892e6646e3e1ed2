/** Many snaps through four workers; `npm run prove -- --only snaps` does the same with 20,000 snaps and four processes. */
import { expect, onTestFinished, test } from 'vitest'
import { shareDatabase } from '../../../test/support/engine.ts'
import { photo } from './images.ts'
import { liveSnaps } from './live.ts'

test('80 snaps through four workers: none is lost, none is done twice, and each starts within a poll of its turn by age', async () => {
  const url = await shareDatabase()
  const made = await Promise.all([1, 2, 3, 4].map(() => liveSnaps({ url, concurrency: 1 })))
  const [{ send, sql, ended }] = made as [(typeof made)[number]]
  const images = await Promise.all(Array.from({ length: 8 }, (_, n) => photo(n, { width: 160, height: 120 })))
  const ids: string[] = []
  for (let n = 0; n < 40; n++) ids.push(await send(images[n % 8]!))
  const workers = await Promise.all(made.map(each => each.work()))
  onTestFinished(async () => void (await Promise.all(workers.map(each => each.stop()))))
  for (let n = 40; n < 80; n++) ids.push(await send(images[n % 8]!))
  for (const id of ids) expect((await ended(id)).status).toBe('DONE')
  const [counted] = await sql(
    `select count(*)::int as snaps, max(j.attempt) as attempts, count(distinct j.last_worker)::int as workers
     from snaps.snap s join retoma.job j on j.id = s.job_id`,
  )
  expect(counted).toEqual({ snaps: 80, attempts: 1, workers: 4 })
  // The latest start of an older snap, compared with the start of each snap.
  const [late] = await sql(
    `select count(*)::int as n from (
       select max(j.started_at) over (order by s.created_at, s.id) - j.started_at as behind
       from snaps.snap s join retoma.job j on j.id = s.job_id
     ) o where behind > interval '5 s'`,
  )
  expect(late).toEqual({ n: 0 })
})
