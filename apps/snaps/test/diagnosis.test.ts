/** The queries of docs/snaps.md, taken from the page: six about the queue, run on a queue in every state, and one about similar images. */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { photo } from './images.ts'
import { liveSnaps } from './live.ts'

const page = readFileSync(new URL('../../../docs/snaps.md', import.meta.url), 'utf8')
const queries = [...page.matchAll(/\*\*\d\. [^\n]*\n\n```sql\n(.*?);\n```/gs)].map(([, query]) => query!)

test('each of the six queries of the page answers the question above it', async () => {
  expect(queries).toHaveLength(6)
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const { engine, send, sql, ended, read, work } = await liveSnaps({ url })
  await sql(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'disco cheio'; end $$`,
  )
  await sql(
    `create trigger refuse before update of format on snaps.snap for each row when (old.name = 'falha.jpg')
     execute function public.refuse()`,
  )
  const worker = await work()
  onTestFinished(() => worker.stop())
  const image = await photo(1)
  const done = await send(image)
  const refused = [
    await send(Buffer.from('texto')),
    await send(Buffer.from('texto')),
    await send(image.subarray(0, 900)),
  ]
  for (const id of [done, ...refused]) await ended(id)
  const retried = await send(image, 'falha.jpg')
  await until(async () => (await read(retried)).next_retry_at !== null)
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  await engine.queues.pause('snaps')
  const running = await send(image)
  const locked = engine.transaction(async tx => {
    await tx.query(`select from snaps.snap where id = $1 for update`, [running])
    await engine.queues.resume('snaps')
    await held
  })
  await until(async () => (await read(running)).status === 'PROCESSING')
  await engine.queues.pause('snaps')
  const waiting = [await send(image), await send(image)]

  const ask = async (n: number) => sql<Record<string, unknown>>(queries[n - 1]!.replace('42', retried))
  const counts = (await ask(1)).map(({ status, count }) => `${status} ${count}`)
  expect(counts).toEqual(['DONE 1', 'FAILED 3', 'PENDING 3', 'PROCESSING 1'])
  expect((await ask(2)).map(({ id }) => id).filter(id => id !== retried)).toEqual(waiting)
  const { claimed_by } = await read(running)
  const [here] = await ask(3)
  expect(here).toMatchObject({ id: running, claimed_by, pid: process.pid })
  expect(here).toMatchObject({ since: expect.anything(), last_sign: expect.anything() })
  expect(await ask(4)).toEqual([
    {
      id: retried,
      attempt_count: (await read(retried)).attempt_count,
      next_retry_at: new Date((await read(retried)).next_retry_at),
      last_error: expect.stringContaining('disco cheio'),
    },
  ])
  const why = await ask(5)
  expect(why.map(({ count, example }) => [count, example])).toEqual([
    ['2', refused[0]],
    ['1', refused[2]],
  ])
  expect(why[0]!.last_error).toBe('o arquivo não é uma imagem JPEG, PNG, WebP, GIF, TIFF ou AVIF')
  const history = await ask(6)
  expect(history[0]).toMatchObject({ attempt: 1, failure_type: 'error', worker: claimed_by })
  expect(history[0]!.message).toContain('disco cheio')
  letGo()
  await locked
})

test('the query of the page about similar images finds images with up to six different bits, and no others', async () => {
  const query = /```sql\n(select a\.id, b\.id .*?);\n```/s.exec(page)![1]!
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const { send, sql, ended, work } = await liveSnaps({ url })
  const worker = await work()
  onTestFinished(() => worker.stop())
  const original = await send(await photo(1))
  const smaller = await send(await photo(1, { width: 160, height: 120, quality: 40 }))
  const other = await send(await photo(2))
  for (const id of [original, smaller, other]) expect(await ended(id)).toMatchObject({ status: 'DONE' })
  const pairs = async () =>
    (await sql(query)).map(({ id, similar_id, bits }) => [String(id), String(similar_id), Number(bits)])
  expect((await pairs()).map(([id, similar]) => [id, similar])).toEqual([[original, smaller]])
  // By the bit: six different bits are similar, seven are not.
  const turned = (bits: number) =>
    sql(`update snaps.snap s set perceptual_hash = o.perceptual_hash # (repeat('1', $3::int) || repeat('0', 64 - $3::int))::bit(64)
         from snaps.snap o where s.id = $1 and o.id = $2`, [smaller, original, bits]) // biome-ignore format: one statement
  await turned(6)
  expect(await pairs()).toEqual([[original, smaller, 6]])
  await turned(7)
  expect(await pairs()).toEqual([])
})
