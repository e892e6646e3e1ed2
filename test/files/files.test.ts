/** Files in PostgreSQL: the bytes that went in come out, whole or not at all, in bounded memory, for every process. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { days, defineJob, type Engine } from '../../src/index.ts'
import { engineOf, liveEngine, shareDatabase, until } from '../support/engine.ts'

const mb = 1024 * 1024
const pdf = { name: 'um.pdf', type: 'application/pdf' }
const job = defineJob({ kind: 'reads', run: () => {} })

/** Bytes that differ from place to place, in pieces that fit no chunk. */
function* bytes(size: number, piece = 65_521): Generator<Uint8Array> {
  for (let from = 0; from < size; from += piece)
    yield Uint8Array.from(
      { length: Math.min(piece, size - from) },
      (_, i) => ((from + i) * 31 + ((from + i) >> 8)) & 255,
    )
}

const hashOf = (size: number) => {
  const hash = createHash('sha256')
  for (const piece of bytes(size)) hash.update(piece)
  return hash.digest('hex')
}

async function read(engine: Engine, id: string): Promise<{ size: number; sha256: string; largest: number }> {
  const hash = createHash('sha256')
  let size = 0
  let largest = 0
  for await (const piece of (await engine.files.open(id))!.bytes) {
    hash.update(piece)
    size += piece.byteLength
    largest = Math.max(largest, piece.byteLength)
  }
  return { size, sha256: hash.digest('hex'), largest }
}

test.each([0, 1, mb - 1, mb, mb + 1, 5 * mb])('%i bytes come out as they went in', async size => {
  const { engine } = await engineOf({ jobs: [] })
  const put = await engine.files.put(bytes(size), pdf)
  expect(put).toMatchObject({ ...pdf, size, sha256: hashOf(size) })
  expect(await read(engine, put.id)).toEqual({ size, sha256: put.sha256, largest: Math.min(size, mb) })
  const { bytes: _, part: __, ...view } = (await engine.files.open(put.id))!
  expect(view).toEqual(put)
})

test.each([0, 1, mb])('a file of %i bytes is written by one statement', async size => {
  const { engine, sql } = await withSql()
  await engine.files.put(bytes(size), pdf)
  // A write leaves the number of its transaction in the row (xmin).
  const written = `select xmin from retoma.file union select xmin from retoma.file_chunk`
  expect(await sql(written)).toHaveLength(1)
  await engine.files.put(bytes(mb + 1), pdf)
  expect((await sql(written)).length).toBeGreaterThan(2)
})

test('a source is read no further than two pieces ahead of what is written', async () => {
  const { engine, sql } = await withSql()
  let given = 0
  let furthest = 0
  async function* source() {
    for (const piece of bytes(20 * mb, mb / 2)) {
      const [{ n }] = await sql<{ n: number }>('select count(*)::int as n from retoma.file_chunk')
      furthest = Math.max(furthest, given - n * mb)
      given += piece.byteLength
      yield piece
    }
  }
  await engine.files.put(source(), pdf)
  expect(furthest).toBeLessThanOrEqual(2 * mb)
})

test('a source that breaks off leaves nothing to be opened, and nothing at all', async () => {
  const { engine, sql } = await withSql()
  async function* broken() {
    yield* bytes(3 * mb)
    throw new Error('gone')
  }
  await expect(engine.files.put(broken(), pdf)).rejects.toThrow('gone')
  expect(await sql('select id from retoma.file')).toEqual([])
  expect(await sql('select file_id from retoma.file_chunk')).toEqual([])
})

test('one that is still coming in cannot be opened or kept', async () => {
  const { engine, sql } = await withSql()
  async function* slow() {
    yield* bytes(2 * mb)
    // The first piece is written while the source goes on.
    const rows = () => sql<{ id: string }>('select id::text from retoma.file')
    await until(async () => (await rows()).length > 0)
    const [{ id }] = await rows()
    expect(await engine.files.open(id)).toBeNull()
    const made = await engine.enqueue(job, undefined)
    await expect(engine.files.keep([id], { job: made.id })).rejects.toMatchObject({ code: 'not_found' })
  }
  await engine.files.put(slow(), pdf)
})

test('one that is larger than allowed is refused while it comes, and the source is let go', async () => {
  const { engine, sql } = await withSql()
  let letGo = false
  function* endless() {
    try {
      for (;;) yield new Uint8Array(mb)
    } finally {
      letGo = true
    }
  }
  const put = engine.files.put(endless(), { ...pdf, most: 3 * mb })
  await expect(put).rejects.toMatchObject({ code: 'file_too_large', status: 413, facts: { most: 3 * mb } })
  expect(letGo).toBe(true)
  expect(await sql('select id from retoma.file')).toEqual([])
  expect((await engine.files.put(bytes(3 * mb), { ...pdf, most: 3 * mb })).size).toBe(3 * mb)
})

test('another process sees it', async () => {
  const url = await shareDatabase()
  const one = await liveEngine([], {}, url)
  const other = await liveEngine([], {}, url)
  const put = await one.engine.files.put(bytes(2 * mb + 5), pdf)
  expect(await read(other.engine, put.id)).toMatchObject({ size: 2 * mb + 5, sha256: hashOf(2 * mb + 5) })
})

test('one that is removed while it is read says so', async () => {
  const { engine } = await engineOf({ jobs: [] })
  const put = await engine.files.put(bytes(2 * mb), pdf)
  const reading = (await engine.files.open(put.id))!.bytes[Symbol.asyncIterator]()
  await reading.next()
  expect(await engine.files.remove([put.id, put.id, '0', 'x'])).toBe(1)
  await expect(reading.next()).rejects.toMatchObject({ code: 'file_gone' })
  expect(await engine.files.open(put.id)).toBeNull()
})

test.each(['', '0', '017', 'x', '9'.repeat(30)])('"%s" names no file', async id => {
  const { engine } = await engineOf({ jobs: [job] })
  expect(await engine.files.open(id)).toBeNull()
  const { id: home } = await engine.enqueue(job, undefined)
  await expect(engine.files.keep([id], { job: home })).rejects.toMatchObject({ code: 'not_found' })
})

test('files are kept all together or not at all, also in a transaction of the caller', async () => {
  const { engine, sql } = await withSql()
  const [a, b] = [await engine.files.put(bytes(1), pdf), await engine.files.put(bytes(2), pdf)]
  const { id: home } = await engine.enqueue(job, undefined)
  const kept = () => sql<{ id: string }>('select id::text from retoma.file where job_id = $1 order by id', [home])
  await expect(engine.files.keep([a.id, '999'], { job: home })).rejects.toMatchObject({ code: 'not_found' })
  expect(await kept()).toEqual([])
  const undone = engine.transaction(async tx => {
    await engine.files.keep([a.id, b.id], { job: home, tx })
    throw new Error('no')
  })
  await expect(undone).rejects.toThrow('no')
  expect(await kept()).toEqual([])
  await engine.transaction(tx => engine.files.keep([a.id, b.id, a.id], { job: home, tx }))
  expect(await kept()).toEqual([{ id: a.id }, { id: b.id }])
  await expect(engine.files.keep([a.id], { batch: '77' })).rejects.toMatchObject({
    code: 'not_found',
    facts: { id: '77' },
  })
})

test('a file with a job from its first byte on goes with the job, also one that is still coming in', async () => {
  const { engine, sql } = await withSql()
  const owned = async () => {
    const { id } = await engine.enqueue(job, undefined)
    await engine.jobs.cancel(id)
    return id
  }
  const [home, other] = [await owned(), await owned()]
  for (const size of [1, mb + 1]) await engine.files.put(bytes(size), { ...pdf, job: home })
  expect(await sql('select job_id::text as job from retoma.file')).toEqual([{ job: home }, { job: home }])
  async function* slow() {
    yield* bytes(2 * mb)
    await until(async () => (await sql('select from retoma.file where job_id = $1', [other])).length > 0)
    await engine.jobs.erase(other)
    yield* bytes(2 * mb)
  }
  await expect(engine.files.put(slow(), { ...pdf, job: other })).rejects.toThrow()
  await engine.jobs.erase(home)
  expect(await sql('select id from retoma.file')).toEqual([])
  for (const size of [1, mb + 1])
    for (const nowhere of [home, '777', 'x'])
      await expect(engine.files.put(bytes(size), { ...pdf, job: nowhere })).rejects.toMatchObject({
        code: 'not_found',
        facts: { id: nowhere },
      })
  expect(await sql('select id from retoma.file')).toEqual([])
})

test.each([
  { name: '' },
  { name: 'a/b.pdf' },
  { name: '..\\b.pdf' },
  { name: 'a\u0000b' },
  { name: 'fdp\u202efdp.exe' },
  { name: 'x'.repeat(256) },
  { type: 'pdf' },
  { type: 'text/html\r\nx: y' },
  { most: -1 },
])('%j is refused', async wrong => {
  const { engine } = await engineOf({ jobs: [] })
  await expect(engine.files.put([], { ...pdf, ...wrong })).rejects.toMatchObject({ code: 'bad_option' })
})

test('a shared file has the same bytes without a copy, and the bytes stay until the last of the files is gone', async () => {
  const { engine, sql, clean } = await withSql()
  const put = await engine.files.put(bytes(2 * mb), pdf)
  const [shared] = await engine.files.share([put.id])
  const [again] = await engine.files.share([shared!])
  const chunks = async () => (await sql('select from retoma.file_chunk')).length
  expect(await chunks()).toBe(2)
  const { size, sha256 } = put
  expect(await engine.files.remove([put.id])).toBe(1)
  expect(await engine.files.open(put.id)).toBeNull()
  await expect(engine.files.share([put.id])).rejects.toMatchObject({ code: 'not_found' })
  for (const id of [shared!, again!]) expect(await read(engine, id)).toMatchObject({ size, sha256 })
  await clean()
  expect(await engine.files.remove([shared!])).toBe(1)
  await clean()
  expect(await read(engine, again!)).toMatchObject({ size, sha256 })
  expect(await engine.files.remove([again!])).toBe(1)
  await clean()
  expect(await sql('select from retoma.file')).toEqual([])
  expect(await chunks()).toBe(0)
})

test('files are shared all together or not at all, also in a transaction of the caller', async () => {
  const { engine, sql } = await withSql()
  const [a, b] = [await engine.files.put(bytes(1), pdf), await engine.files.put(bytes(2), { ...pdf, name: 'dois.pdf' })]
  const rows = () => sql('select name, content_id::text as content, shares from retoma.file order by id')
  const before = await rows()
  await expect(engine.files.share([a.id, '999'])).rejects.toMatchObject({ code: 'not_found', facts: { id: '999' } })
  await expect(engine.files.share(['x'])).rejects.toMatchObject({ code: 'not_found' })
  const undone = engine.transaction(async tx => {
    await engine.files.share([a.id, b.id], { tx })
    throw new Error('no')
  })
  await expect(undone).rejects.toThrow('no')
  expect(await rows()).toEqual(before)
  const made = await engine.transaction(tx => engine.files.share([b.id, a.id], { tx }))
  expect(await Promise.all(made.map(async id => (await engine.files.open(id))!.name))).toEqual(['dois.pdf', 'um.pdf'])
  expect(await rows()).toMatchObject([{ shares: 1 }, { shares: 1 }, { content: a.id }, { content: b.id }])
})

test('a file that is removed while a transaction shares it is gone, and its bytes stay for the other', async () => {
  const { engine, clean, sql } = await withSql()
  const put = await engine.files.put(bytes(3), pdf)
  let removing: Promise<number> | undefined
  const [shared] = await engine.transaction(async tx => {
    const made = await engine.files.share([put.id], { tx })
    removing = engine.files.remove([put.id])
    await until(async () => {
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await sql(waiting)).length > 0
    })
    return made
  })
  expect(await removing).toBe(1)
  expect(await engine.files.open(put.id)).toBeNull()
  await clean()
  expect(await read(engine, shared!)).toMatchObject({ size: 3, sha256: put.sha256 })
})

test('the janitor leaves an ownerless file alone while another file shares its bytes', async () => {
  const { engine, clean, clock, sql } = await withSql()
  const put = await engine.files.put(bytes(3), pdf)
  const [shared] = await engine.files.share([put.id])
  const { id: home } = await engine.enqueue(job, undefined)
  await engine.files.keep([shared!], { job: home })
  await clock.advance(days(2))
  await clean()
  expect(await read(engine, shared!)).toMatchObject({ size: 3 })
  expect(await sql('select from retoma.file')).toHaveLength(2)
})

test('a closed engine takes and gives none', async () => {
  const { engine } = await engineOf({ jobs: [] })
  const put = await engine.files.put(bytes(2 * mb), pdf)
  const open = (await engine.files.open(put.id))!
  await engine.close()
  await expect(engine.files.put([], pdf)).rejects.toMatchObject({ code: 'engine_closed' })
  await expect(open.bytes[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'engine_closed' })
})

async function withSql() {
  const t = await engineOf({ jobs: [job] })
  const sql = async <Row = Record<string, unknown>>(text: string, values: unknown[] = []) =>
    (await t.engine.query<Row>(text, values)).rows as [Row, ...Row[]]
  return { ...t, sql }
}
