/** Many snaps through four workers; `npm run prove -- --only snaps` does the same with 20,000 snaps and four processes. */
import { expect, onTestFinished, test } from 'vitest'
import { shareDatabase } from '../../../test/support/engine.ts'
import { photo } from './images.ts'
import { liveSnaps } from './live.ts'

test('80 snaps through four workers: none is lost, none is done twice, and each starts at most four places from its turn by age', async () => {
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
  // The place of a snap in the order of age, beside its place in the order of start. Four workers with a slot each start at most four snaps at
  // the same time; 40 snaps wait when the workers start.
  const [order] = await sql<{ most: number }>(
    `select max(abs(age - start))::int as most from (
       select row_number() over (order by s.created_at, s.id) as age, row_number() over (order by j.started_at, s.id) as start
       from snaps.snap s join retoma.job j on j.id = s.job_id
     ) o`,
  )
  expect(order!.most).toBeLessThanOrEqual(made.length)
})
