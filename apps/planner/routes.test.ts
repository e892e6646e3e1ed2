/** The routes of the planner: the three jobs from the request to the result, and the answers to requests that cannot be. */
import { megabytes } from 'retoma'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { until } from '../../test/support/engine.ts'
import { childrenOf } from '../../test/support/processes.ts'
import { documentOf, goodPdf, streamOf, writePdf } from '../classifier/test/pdfs.ts'
import { longProblem, plannerDoor, smallProblem } from './test/door.ts'

test('the three jobs run from the request to the result, and each has the fields of the contract', async () => {
  const t = await plannerDoor()
  const csv = Buffer.from('Data;Hora;Visitas\r\n04/03/2030;09:15;3\r\n31/02/2030;10:00;1\r\n05/03/2030;14h;1.200\r\n')
  // The left half is red; shown as the orientation of EXIF asks, the upper half is.
  const right = { create: { width: 800, height: 800, channels: 3, background: '#00f' } } as const
  const photo = await sharp({ create: { width: 1600, height: 800, channels: 3, background: '#f00' } })
    .composite([{ input: right, left: 800, top: 0 }])
    .withMetadata({ orientation: 6 })
    .withExif({ IFD0: { Copyright: 'segredo', Orientation: '6' }, IFD3: { GPSLatitude: '23/1 33/1 0/1' } })
    .jpeg()
    .toBuffer()
  const ids = [
    await t.generate(smallProblem),
    await t.upload('extract-demand', csv, 'visitas.csv'),
    await t.upload('generate-thumbnail', photo, 'foto.jpg'),
    await t.upload('generate-thumbnail', goodPdf('Escala de março'), 'escala.pdf'),
  ]
  expect(await t.read(ids[0]!)).toMatchObject({
    id: ids[0],
    kind: 'generate-schedule',
    status: 'PENDING',
    started_at: null,
    completed_at: null,
    last_heartbeat_at: null,
    error_message: null,
    result: null,
  })
  await t.run()
  const [schedule, demand, image, pdf] = await Promise.all(ids.map(t.read))
  for (const job of [schedule, demand, image, pdf]) {
    expect(job.error_message).toBeNull()
    expect(job).toMatchObject({ status: 'COMPLETED', started_at: expect.any(String) })
    expect(job.last_heartbeat_at).toBe(job.completed_at)
  }

  expect(schedule.result).toMatchObject({ status: 'optimal', gap_percent: 0, shortages: [] })
  expect(schedule.result.assignments).toHaveLength(4)
  expect(schedule.progress).toMatchObject({ done: 60, total: 60, note: 'escala pronta', gap_percent: 0 })
  expect(schedule.result.people.find((each: { person: string }) => each.person === 'Bia').nights).toBe(0)
  const table = await t.ask('GET', `/api/planner/jobs/${ids[0]}/result.csv`)
  expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(table.body.split('\r\n')).toHaveLength(6)
  expect(table.body).toContain('data;turno;pessoa\r\n2030-03-04;Manhã;')

  expect(demand.result).toMatchObject({
    format: 'csv',
    rows: 3,
    visits: 1203,
    demand: [
      { weekday: 1, hour: 9, visits: 3, average: 3 },
      { weekday: 2, hour: 14, visits: 1200, average: 1200 },
    ],
    dropped: { rows: 1, reasons: [{ reason: 'bad_date', rows: 1, example: '3: "31/02/2030"' }] },
  })
  expect((await t.ask('GET', `/api/planner/jobs/${ids[1]}/result.csv`)).body).toContain('terça;14;1200;1200\r\n')

  expect(image.result.source).toEqual({ type: 'image/jpeg', width: 800, height: 1600, pages: null })
  expect(pdf.result.source).toMatchObject({ type: 'application/pdf', pages: 1 })
  for (const [id, size, width] of [
    [ids[2], 'small', 128],
    [ids[2], 'large', 512],
    [ids[3], 'small', 181],
    [ids[3], 'large', 724],
  ] as const) {
    const response = await t.fetch(new Request(`http://127.0.0.1:3000/api/planner/jobs/${id}/thumbnails/${size}`))
    const bytes = Buffer.from(await response.arrayBuffer())
    const metadata = await sharp(bytes).metadata()
    expect(metadata).toMatchObject({ format: 'webp', width })
    expect(metadata.exif).toBeUndefined()
    expect(bytes.includes('segredo')).toBe(false)
    if (id !== ids[2]) continue
    const { dominant: top } = await sharp(
      await sharp(bytes).extract({ left: 0, top: 0, width, height: width }).toBuffer(),
    ).stats()
    expect(top.r).toBeGreaterThan(top.b)
  }
  for (const size of ['huge', 'constructor', '__proto__'])
    expect((await t.ask('GET', `/api/planner/jobs/${ids[2]}/thumbnails/${size}`)).status).toBe(409)
  expect((await t.ask('GET', `/api/planner/jobs/${ids[2]}/result.csv`)).body.error.code).toBe('planner_result_missing')

  const listed = (await t.ask('GET', '/api/planner/jobs?kind=generate-thumbnail&status=COMPLETED')).body
  expect(listed.items.map((each: { id: string }) => each.id)).toEqual([ids[3], ids[2]])
  expect((await t.ask('DELETE', `/api/planner/jobs/${ids[2]}`)).status).toBe(204)
  expect((await t.ask('GET', `/api/planner/jobs/${ids[2]}`)).status).toBe(404)
  expect(await t.engine.job(ids[2]!)).toBeNull()
})

test('an SVG and a HEIC photo are refused in words with the name of the file', async () => {
  const t = await plannerDoor()
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'
  const heic = '\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\x08meta'
  const ids = [
    await t.upload('generate-thumbnail', Buffer.from(svg), 'a.svg'),
    await t.upload('generate-thumbnail', Buffer.from(heic, 'latin1'), 'a.heic'),
  ]
  await t.run()
  const wanted = 'envie JPEG, PNG, WebP, GIF, AVIF, TIFF ou PDF'
  expect((await Promise.all(ids.map(t.read))).map(({ error_message }) => error_message)).toEqual([
    `o arquivo a.svg não pode ser lido: não é uma imagem conhecida; ${wanted}`,
    `o arquivo a.heic não pode ser lido: é uma foto HEIC; ${wanted}`,
  ])
})

test('a request that cannot be is a 400 with the field, and creates nothing', async () => {
  const t = await plannerDoor()
  const refused = async (body: object) => {
    const answer = await t.ask('POST', '/api/planner/generate-schedule', { body })
    return [answer.status, answer.body.error.code, answer.body.error.field]
  }
  expect(await refused({ ...smallProblem, people: [] })).toEqual([400, 'bad_request', 'people'])
  expect(await refused({ ...smallProblem, start: '2030-02-30' })).toEqual([400, 'bad_request', 'start'])
  expect(await refused({ ...smallProblem, demand: [{ shift: 'Madrugada', people: 1 }] })).toEqual([
    400,
    'bad_request',
    'demand[0].shift',
  ])
  const messageIn = async (language: string) => {
    const body = { ...smallProblem, people: [{ name: 'Ana', avoids: ['Madrugada'] }] }
    const headers = { 'accept-language': language }
    return (await t.ask('POST', '/api/planner/generate-schedule', { body, headers })).body.error.message
  }
  const early = { ...smallProblem, shifts: [{ name: 'Manhã', start: '7:00', end: '15:00' }] }
  const wrong = await t.ask('POST', '/api/planner/generate-schedule', {
    body: early,
    headers: { 'accept-language': 'pt' },
  })
  expect(wrong.body.error.message).toBe('shifts[0].start não serve: deve ser um horário como 07:30')
  expect(await messageIn('pt')).toBe('people[0].avoids[0] não serve: não existe o turno "Madrugada"')
  expect(await messageIn('en')).toContain('there is no shift "Madrugada"')
  const empty = await t.fetch(
    new Request('http://127.0.0.1:3000/api/planner/extract-demand', { method: 'POST', body: new FormData() }),
  )
  expect(empty.status).toBe(400)
  for (const id of ['77', 'abc', '-1', '9'.repeat(30)])
    expect((await t.ask('GET', `/api/planner/jobs/${id}`)).status).toBe(404)
  expect((await t.ask('GET', '/api/planner/jobs')).body).toEqual({ items: [], next: null })
})

test('the same Idempotency-Key creates one job, also with a file', async () => {
  const t = await plannerDoor()
  const headers = { 'idempotency-key': 'a-1' }
  const once = async () =>
    (await t.ask('POST', '/api/planner/generate-schedule', { body: smallProblem, headers })).body.id
  expect(await once()).toBe(await once())
  const file = (text: string) => t.upload('extract-demand', Buffer.from(text), 'v.csv', headers)
  const first = await file('data;hora\n04/03/2030;9')
  expect(await file('data;hora\n04/03/2030;9')).toBe(first)
  await expect(file('data;hora\n05/03/2030;9')).rejects.toThrow(/idempotency|key/i)
  expect((await t.ask('GET', '/api/planner/jobs')).body.items).toHaveLength(2)
})

test('a table without a visit names every reason, and a table without a row says so', async () => {
  const t = await plannerDoor()
  const ids = [
    await t.upload('extract-demand', Buffer.from('data;hora\n'), 'v.csv'),
    await t.upload('extract-demand', Buffer.from('data;hora\n31/02/2030;9\n04/03/2030;25:00\n'), 'v.csv'),
  ]
  await t.run()
  expect((await Promise.all(ids.map(t.read))).map(({ error_message }) => error_message)).toEqual([
    'nenhuma linha tem uma visita que sirva: não há linha abaixo do cabeçalho',
    'nenhuma linha tem uma visita que sirva: linhas descartadas: 2; data que não existe ou não se entende (2: "31/02/2030"); hora que não se entende (3: "25:00")',
  ])
})

test('a name that a spreadsheet would take for a formula is a text in result.csv', async () => {
  const t = await plannerDoor()
  const id = await t.generate({ ...smallProblem, people: [{ name: '=cmd|calc' }, { name: '@b;c' }] })
  await t.run()
  const { body } = await t.ask('GET', `/api/planner/jobs/${id}/result.csv`)
  expect(body).toContain(";'=cmd|calc\r\n")
  expect(body).toContain(`;"'@b;c"\r\n`)
})

test('an erased job is gone with its file and its answer to the Idempotency-Key, also after a crash in between', async () => {
  const t = await plannerDoor()
  const sql = await sqlOn(t)
  const file = Buffer.from('data;hora\n04/03/2030;9')
  const headers = { 'idempotency-key': 'a-1' }
  const waiting = await t.upload('extract-demand', file, 'v.csv')
  const interrupted = await t.upload('extract-demand', file, 'v.csv', headers)
  expect((await t.ask('DELETE', `/api/planner/jobs/${waiting}`)).status).toBe(204)
  // As a process leaves the job that dies after the first statement.
  await sql(`update planner.job set deleted_at = now() where job_id = $1`, [interrupted])
  for (const id of [waiting, interrupted]) {
    expect((await t.ask('GET', `/api/planner/jobs/${id}`)).status).toBe(404)
    expect((await t.ask('DELETE', `/api/planner/jobs/${id}`)).status).toBe(404)
  }
  await t.schedule()
  await t.engine.schedules.run('reconcile_orphan_jobs')
  await t.run()
  await t.clean()
  expect(await sql(`select from planner.job`)).toEqual([])
  expect(await sql(`select from retoma.job where kind = 'extract-demand'`)).toEqual([])
  expect(await sql(`select from retoma.file`)).toEqual([])
  // The key stays used for 24 hours, and its answer does not name the erased job as if it were there.
  await expect(t.upload('extract-demand', file, 'v.csv', headers)).rejects.toThrow('not_found')
})

test('a job whose file is gone is FAILED with that reason', async () => {
  const t = await plannerDoor()
  const ids = [
    await t.upload('extract-demand', Buffer.from('data;hora\n04/03/2030;9'), 'v.csv'),
    await t.upload('generate-thumbnail', Buffer.from('x'), 'v.png'),
  ]
  const sql = await sqlOn(t)
  await sql(`delete from retoma.file`)
  await t.run()
  for (const id of ids) expect((await t.read(id)).error_message).toBe('o arquivo do job não existe mais')
})

test('a PDF with a password is FAILED with that reason', async () => {
  const t = await plannerDoor()
  const objects = documentOf([streamOf('x')])
  const key = `<${'ab'.repeat(32)}>`
  const locked = writePdf([...objects, `<< /Filter /Standard /V 1 /R 2 /P -44 /O ${key} /U ${key} >>`], {
    trailer: `/Encrypt ${objects.length + 1} 0 R /ID [<00> <00>]`,
  })
  const id = await t.upload('generate-thumbnail', locked, 'a.pdf')
  await t.run()
  expect(await t.read(id)).toMatchObject({ status: 'FAILED', error_message: 'o PDF tem senha' })
})

test('a schedule that needs more memory than its process may have, and a schedule whose process is killed, are FAILED with that reason', async () => {
  const small = await plannerDoor({ scheduleMemory: megabytes(128) })
  const large = await small.generate(longProblem)
  await small.run()
  expect(await small.read(large)).toMatchObject({
    status: 'FAILED',
    error_message: 'o processo do job passou da memória permitida',
  })

  const t = await plannerDoor()
  const before = new Set(childrenOf(process.pid))
  const id = await t.generate(longProblem)
  const run = t.run()
  await until(async () => (await t.read(id)).progress?.done !== undefined)
  for (const pid of childrenOf(process.pid)) if (!before.has(pid)) process.kill(Number(pid), 'SIGKILL')
  await run
  expect(await t.read(id)).toMatchObject({ status: 'FAILED', error_message: 'o processo do job morreu' })
})

test('a schedule is solved in a process of its own with at most 1 GB', async () => {
  const { system } = await plannerDoor()
  const schedule = system.jobs!.find(({ kind }) => kind === 'generate-schedule')
  expect(schedule).toMatchObject({ policy: { isolation: 'process', memoryBytes: megabytes(1024) } })
})
