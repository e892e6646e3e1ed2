/** The snaps over HTTP: an image comes in, its facts come out; the queue in the words of the seed. */
import { createHash } from 'node:crypto'
import { seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { readSnapsSettings } from './settings.ts'
import { statuses } from './status.ts'
import { formOf, snapsDoor } from './test/door.ts'
import { flat, photo, pictureOf } from './test/images.ts'

test('an image is 202 with its id, PENDING, then DONE with all that was measured', async () => {
  const t = await snapsDoor()
  const exif = { IFD2: { DateTimeOriginal: '2024:05:06 07:08:09', OffsetTimeOriginal: '-03:00' } }
  const bytes = await pictureOf(1, { width: 400, height: 300 }).jpeg().withExif(exif).toBuffer()
  const { status, body } = await t.post(formOf(bytes))
  expect([status, Object.keys(body)]).toEqual([202, ['id']])
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const sent = {
    id: body.id,
    status: 'PENDING',
    name: 'foto.jpg',
    content_type: 'image/jpeg',
    size: bytes.length,
    sha256,
  }
  const none = {
    next_retry_at: null,
    last_error: null,
    claimed_by: null,
    locked_at: null,
    duplicate_of: null,
    similar_to: null,
  }
  expect(await t.read(body.id)).toMatchObject({ ...sent, ...none, attempt_count: 0, completed_at: null, result: null })
  await t.run()
  const done = await t.read(body.id)
  expect(done).toMatchObject({ ...sent, ...none, status: 'DONE', attempt_count: 1 })
  expect(done.result).toMatchObject({
    format: 'jpeg',
    width: 400,
    height: 300,
    perceptual_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    taken_at: '2024-05-06T10:08:09.000Z',
    taken_at_offset: '-03:00',
  })
  const { luminance_histogram: histogram, blur_score: blur, dominant_colors: colours } = done.result
  expect(histogram).toHaveLength(256)
  expect(histogram.reduce((sum: number, n: number) => sum + n, 0)).toBe(400 * 300)
  expect(blur).toBeGreaterThan(0)
  expect(colours[0]).toEqual({ hex: expect.stringMatching(/^#[0-9a-f]{6}$/), share: expect.any(Number) })

  const image = await t.fetch(new Request(`http://127.0.0.1:3000/api/snaps/${body.id}/image`))
  expect(
    createHash('sha256')
      .update(Buffer.from(await image.arrayBuffer()))
      .digest('hex'),
  ).toBe(sha256)
})

test('an image comes as a form or as the body itself; a turned photo has the size that is shown', async () => {
  const t = await snapsDoor()
  const turned = await pictureOf(2, { width: 60, height: 30 }).jpeg().withMetadata({ orientation: 6 }).toBuffer()
  const ids = [
    (await t.post(formOf(turned, { field: 'file' }))).body.id,
    (await t.post(turned, { 'content-type': 'image/jpeg' })).body.id,
  ]
  await t.run()
  for (const id of ids)
    expect(await t.read(id)).toMatchObject({
      status: 'DONE',
      content_type: 'image/jpeg',
      result: { width: 30, height: 60 },
    })
})

test('duplicates are noted: the same bytes, and the same perceptual hash', async () => {
  const t = await snapsDoor()
  const [one, smaller, other] = [await photo(3, { width: 640, height: 480 }), await photo(3), await photo(4)]
  const [white, black] = [await flat('white'), await flat('black')]
  const ids: string[] = []
  for (const bytes of [one, one, smaller, other, one, white, black]) ids.push(await t.send(bytes))
  await t.run()
  const found = await Promise.all(ids.map(t.read))
  const [first] = ids
  expect(found.map(each => each.duplicate_of)).toEqual([null, first, null, null, first, null, null])
  // Images without any structure have the same hash, which says nothing.
  expect(found.map(each => each.similar_to)).toEqual([null, first, first, null, first, null, null])
  expect(found[0].result.perceptual_hash).toBe(found[2].result.perceptual_hash)
  expect((await t.ask('DELETE', `/api/snaps/${first}`)).status).toBe(204)
  expect((await t.read(ids[4]!)).duplicate_of).toBe(ids[1])
})

test('a failure is tried five times, with 5 s, 10 s, 20 s and 40 s between the tries, and then FAILED', async () => {
  const t = await snapsDoor()
  await t.sql(`
    create function snaps.refuse() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$;`)
  await t.sql(
    `create trigger refuse before update of format on snaps.snap for each row execute function snaps.refuse()`,
  )
  onTestFinished(async () => void (await t.sql(`drop function snaps.refuse() cascade`)))
  const id = await t.send(await flat('#336699'))
  const between: number[] = []
  for (let attempt = 1; attempt <= 5; attempt++) {
    await t.run()
    const seen = await t.read(id)
    expect(seen).toMatchObject({
      attempt_count: attempt,
      last_error: expect.stringContaining('the disk is full'),
      result: null,
    })
    if (attempt === 5) {
      expect(seen).toMatchObject({ status: 'FAILED', next_retry_at: null, claimed_by: null })
      break
    }
    expect(seen).toMatchObject({ status: 'PENDING', claimed_by: null, locked_at: null })
    const wait = (Date.parse(seen.next_retry_at) - t.clock.now().getTime()) / 1000
    between.push(wait)
    await t.clock.advance(seconds(wait))
  }
  for (const [index, wait] of between.entries()) {
    const exact = 5 * 2 ** index
    expect(wait, `wait ${index + 1}`).toBeGreaterThanOrEqual(exact * 0.89)
    expect(wait, `wait ${index + 1}`).toBeLessThanOrEqual(exact * 1.11)
  }
})

test('the oldest snap starts first', async () => {
  const t = await snapsDoor({ settings: { ...readSnapsSettings({}), concurrency: 1 } })
  const bytes = await flat('#808080')
  const ids: string[] = []
  for (let n = 0; n < 6; n++) {
    ids.push(await t.send(bytes))
    await t.clock.advance(seconds(1))
  }
  const oldest = `select id::text as id from snaps.snap_processing_job where status = 'PENDING' order by created_at limit 3`
  expect((await t.sql(oldest)).map(({ id }) => id)).toEqual(ids.slice(0, 3))
  await t.run()
  const started = await t.sql(
    `select s.id::text as id from snaps.snap s join retoma.job j on j.id = s.job_id order by j.started_at, j.id`,
  )
  expect(started.map(({ id }) => id)).toEqual(ids)
  const listed = (query: string) => t.ask('GET', `/api/snaps${query}`)
  expect((await listed('')).body.items.map((each: { id: string }) => each.id)).toEqual(ids)
  const { items, next } = (await listed('?order=newest&limit=2&status=DONE')).body
  expect(items.map((each: { id: string }) => each.id)).toEqual([ids[5], ids[4]])
  expect((await listed(`?order=newest&limit=2&after=${next}`)).body.items[0].id).toBe(ids[3])
})

test('the statement of the seed reads the queue: the view has its columns, and SKIP LOCKED passes by locked snaps', async () => {
  const t = await snapsDoor()
  const bytes = await flat('#123456')
  const ids = [await t.send(bytes), await t.send(bytes), await t.send(bytes)]
  const seed = `
    SELECT id::text as id, status, attempt_count, next_retry_at, last_error, claimed_by, locked_at, created_at FROM snaps.snap_processing_job
    WHERE status = 'PENDING'
    ORDER BY created_at, id
    LIMIT $1
    FOR UPDATE SKIP LOCKED`
  const claimed = await t.engine.transaction(async tx => {
    const first = (await tx.query<{ id: string }>(seed, [2])).rows
    const second = (await t.engine.query<{ id: string }>(seed, [2])).rows
    return [first, second].map(rows => rows.map(({ id }) => id))
  })
  expect(claimed).toEqual([ids.slice(0, 2), ids.slice(2)])
  await t.run()
  const words = await t.sql<{ status: string }>(`select distinct status from snaps.snap_processing_job`)
  expect(words).toEqual([{ status: 'DONE' }])
})

test('each state of a job has its word, and a snap that a person cancels is FAILED with a reason', async () => {
  const t = await snapsDoor()
  const bytes = await flat('#654321')
  const [cancelled, refused] = [await t.send(bytes), await t.send(Buffer.from('x'))]
  const job = async (id: string) =>
    (await t.sql<{ job: string }>(`select job_id::text as job from snaps.snap where id = $1`, [id]))[0]!.job
  expect((await t.ask('POST', `/api/v1/jobs/${await job(cancelled)}/cancel`)).status).toBe(200)
  await t.run()
  expect(await t.read(cancelled)).toMatchObject({ status: 'FAILED', last_error: 'cancelado', result: null })
  expect(await t.read(refused)).toMatchObject({ status: 'FAILED', attempt_count: 1 })
  // A person tries again: the same file, the same reason.
  expect((await t.ask('POST', `/api/v1/jobs/${await job(refused)}/retry`)).status).toBe(200)
  expect(await t.read(refused)).toMatchObject({ status: 'PENDING' })
  await t.run()
  expect(await t.read(refused)).toMatchObject({
    status: 'FAILED',
    last_error: expect.stringContaining('não é uma imagem'),
  })
  const [view] = await t.sql<{ text: string }>(`select pg_get_viewdef('snaps.snap_processing_job') as text`)
  for (const status of statuses) {
    expect(view!.text).toContain(`'${status}'`)
    expect((await t.ask('GET', `/api/snaps?status=${status}`)).status).toBe(200)
  }
})

test('no image, an empty one and one that is too large are refused, and nothing is left', async () => {
  const t = await snapsDoor()
  const files = async () => (await t.sql<{ n: number }>(`select count(*)::int as n from retoma.file`))[0]!.n
  const refused = async (body: FormData | Uint8Array, headers?: Record<string, string>) => {
    const { status, body: answer } = await t.post(body, headers)
    return [status, answer.error.code, answer.error.message] as const
  }
  expect(await refused(new FormData())).toEqual([400, 'bad_request', 'image não serve: está faltando'])
  expect(await refused(formOf(new Uint8Array()))).toEqual([400, 'bad_request', 'image não serve: o arquivo está vazio'])
  expect((await refused(new Uint8Array(), { 'content-type': 'image/png' }))[0]).toBe(400)
  const large = new Uint8Array(25 * 1024 * 1024 + 1)
  expect(await refused(formOf(large))).toEqual([413, 'snap_too_large', 'foto.jpg tem mais de 25 MB'])
  expect((await refused(large, { 'content-type': 'image/png' }))[1]).toBe('snap_too_large')
  expect((await refused(Buffer.from('{}'), { 'content-type': 'application/json' }))[1]).toBe('not_multipart')
  expect(await files()).toBe(0)
  for (const id of ['77', 'x', '0', '-1', '99999999999999999999'])
    expect((await t.ask('GET', `/api/snaps/${id}`)).status).toBe(404)
})

test('an Idempotency-Key makes one snap, also when the same request comes twice; another image with the key is 409', async () => {
  const t = await snapsDoor()
  const [one, other] = [await flat('red'), await flat('blue')]
  const key = { 'idempotency-key': 'k-1' }
  const [first, second] = await Promise.all([t.post(formOf(one), key), t.post(formOf(one), key)])
  expect(first.body).toEqual(second.body)
  expect((await t.post(formOf(other), key)).status).toBe(409)
  expect(
    await t.sql(`select count(*)::int as snaps, (select count(*)::int from retoma.file) as files from snaps.snap`),
  ).toEqual([{ snaps: 1, files: 1 }])
  expect((await t.ask('DELETE', `/api/snaps/${first.body.id}`)).status).toBe(204)
  expect((await t.post(formOf(one), key)).status).toBe(404)
})

test('an erased snap is gone with its image and its job, also one that waits, and also after a crash in between', async () => {
  const t = await snapsDoor()
  const bytes = await flat('green')
  const [done, waiting, interrupted] = [await t.send(bytes), await t.send(bytes), await t.send(bytes)]
  await t.sql(`update retoma.job set run_at = run_at + interval '1 h' where ref = $1`, [waiting])
  await t.run()
  for (const id of [done, waiting]) expect((await t.ask('DELETE', `/api/snaps/${id}`)).status).toBe(204)
  // As a process leaves the snap that dies after the first statement.
  await t.sql(`update snaps.snap set deleted_at = now() where id = $1`, [interrupted])
  for (const id of [done, waiting, interrupted]) {
    expect((await t.ask('GET', `/api/snaps/${id}`)).status).toBe(404)
    expect((await t.ask('DELETE', `/api/snaps/${id}`)).status).toBe(404)
  }
  await t.schedule()
  await t.clock.advance(seconds(3700))
  await t.schedule()
  await t.run()
  await t.clean()
  expect(await t.sql(`select count(*)::int as n from snaps.snap`)).toEqual([{ n: 0 }])
  expect(await t.sql(`select count(*)::int as n from retoma.job where kind = 'process-snap'`)).toEqual([{ n: 0 }])
  expect(await t.sql(`select count(*)::int as n from retoma.file`)).toEqual([{ n: 0 }])
})

test('a viewer reads, an operator sends and erases, a stranger does neither', async () => {
  const t = await snapsDoor()
  const bytes = await flat('grey')
  const id = await t.send(bytes)
  const tokens = { viewer: '', operator: '' }
  for (const role of ['viewer', 'operator'] as const)
    tokens[role] = (await t.engine.tokens.create({ user: 'ana', role })).token
  const as = (role: 'viewer' | 'operator') => ({ authorization: `Bearer ${tokens[role]}` })
  expect((await t.ask('GET', `/api/snaps/${id}`)).status).toBe(401)
  expect((await t.ask('GET', `/api/snaps/${id}`, { token: tokens.viewer })).status).toBe(200)
  expect((await t.post(formOf(bytes), as('viewer'))).status).toBe(403)
  expect((await t.post(formOf(bytes), as('operator'))).status).toBe(202)
  expect((await t.ask('DELETE', `/api/snaps/${id}`, { token: tokens.viewer })).status).toBe(403)
  expect((await t.ask('DELETE', `/api/snaps/${id}`, { token: tokens.operator })).status).toBe(204)
})

test('SNAPS_WORKER=own leaves the snaps to worker processes; another word is refused', async () => {
  const { snaps } = await import('./index.ts')
  const workerOnly = (environment: Record<string, string>) =>
    snaps({ settings: readSnapsSettings(environment) }).workerOnly
  expect(workerOnly({})).toEqual([])
  expect(workerOnly({ SNAPS_WORKER: 'own' })).toEqual(['snaps'])
  expect(() => workerOnly({ SNAPS_WORKER: 'elsewhere' })).toThrow(/SNAPS_WORKER/)
})
