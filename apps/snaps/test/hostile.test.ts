/** A hundred hostile files and the good images among them, through a real worker: each ends with a reason or with its facts. */
import { megabytes, milliseconds, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { shareDatabase } from '../../../test/support/engine.ts'
import { decodeLimits, type Limits } from '../image/index.ts'
import { goodImages, hostileImages, png } from './hostile.ts'
import { liveSnaps } from './live.ts'

async function working(limits?: Limits) {
  const made = await liveSnaps({ url: await shareDatabase(), ...(limits && { limits }) })
  const worker = await made.work()
  onTestFinished(() => worker.stop())
  return made
}

test('150 files, of which 110 are hostile: each hostile one is FAILED with its reason, each good one DONE, no worker dies', async () => {
  const t = await working()
  const [hostile, good] = await Promise.all([hostileImages(), goodImages()])
  expect([hostile.length, good.length]).toEqual([110, 40])
  // The good ones are spread among the others.
  const files = [...hostile, ...good.map(each => ({ ...each, code: null }))].sort(
    (a, b) => a.bytes.length - b.bytes.length,
  )
  const ids: string[] = []
  for (const { bytes, name } of files) ids.push(await t.send(bytes, name))
  const wrong: unknown[] = []
  for (const [index, { name, code }] of files.entries()) {
    const { code: came, status, last_error: reason, attempt_count: attempts, result } = await t.ended(ids[index]!)
    const expected = code === null ? status === 'DONE' : status === 'FAILED' && [code].flat().includes(came)
    const hasReason = code === null ? result !== null : /^(a imagem|o arquivo) .{10,}/.test(reason ?? '')
    if (!expected || !hasReason || attempts !== 1) wrong.push({ name, status, came, reason, attempts })
  }
  expect(wrong).toEqual([])
  const rows = await t.sql(
    `select count(*)::int as jobs, max(finished_at - started_at) < interval '21 s' as "inTime", count(distinct last_worker)::int as workers
     from retoma.job where kind = 'process-snap'`,
  )
  expect(rows).toEqual([{ jobs: 150, inTime: true, workers: 1 }])
})

test('an image beyond the time or the memory of its process is FAILED at once, with the limit in the reason', async () => {
  // An interlaced image is in memory as a whole, and its decoding takes longer than the time that is left after the signal to stop.
  const whole = png(10_000, 9_900, { bits: 1, interlaced: true, data: Buffer.alloc(13_500_000) })
  const late = await working({ ...decodeLimits, timeout: milliseconds(1) })
  expect(await late.ended(await late.send(whole, 'a.png'))).toMatchObject({
    status: 'FAILED',
    code: 'image_timeout',
    last_error: 'a imagem não pôde ser analisada em 0.001 s',
  })
  // A busy machine can take the millisecond from the process, which is not charged to the image: an attempt before the one that ends it.
  const codes = "select array_agg(code order by attempt) as codes from retoma.failure where code <> 'isolated_starved'"
  expect(await late.sql(codes)).toEqual([{ codes: ['image_timeout'] }])
  const large = await working({ ...decodeLimits, timeout: seconds(20), memory: megabytes(128) })
  expect(await large.ended(await large.send(whole, 'a.png'))).toMatchObject({
    status: 'FAILED',
    code: 'image_memory',
    last_error: 'a imagem precisa de mais de 128 MB de memória',
    attempt_count: 1,
  })
})
