/** Attempts at a document: ten users at once, failures and their repetition, an attempt that loses the document. */
import { minutes, RetomaError, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { noChildFree } from '../../src/jobs/model/deferral.ts'
import { gate } from '../../test/support/engine.ts'
import { errors } from './errors.ts'
import { documentsDoor, readAtOnce } from './test/door.ts'

test('ten users upload at once, and each PDF takes 4 to 8 s: all are DONE, and no more than the limit run at a time', async () => {
  let running = 0
  let most = 0
  const t = await documentsDoor({
    settings: { concurrency: 3 },
    async read(ctx, path, name) {
      most = Math.max(most, ++running)
      await t.clock.sleep(seconds(4 + (Number(ctx.id) % 5)), ctx.signal)
      running--
      return readAtOnce(ctx, path, name)
    },
  })
  const users = Array.from({ length: 10 }, (_, n) => `user${n}`)
  const ids = await Promise.all(users.map(user => t.send({ user })))
  await t.work()
  const seen = await Promise.all(ids.map((id, n) => t.read(id, { user: users[n]! })))
  expect(seen.map(({ status, user }) => [status, user])).toEqual(users.map(user => ['DONE', user]))
  expect(most).toBe(3)
})

test('a PDF that takes nine minutes to read is DONE with the first attempt', async () => {
  const t = await documentsDoor({
    async read(ctx, path, name) {
      await t.clock.sleep(minutes(9), ctx.signal)
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send()
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE', pages: 1 })
  expect((await t.engine.jobs.list({ kind: 'process-document' })).items).toMatchObject([{ starts: 1, failures: 0 }])
})

test('a failure is repeated after 5 s and 10 s, PENDING in between; the third is FAILED, and a reprocess starts anew', async () => {
  const starts: number[] = []
  let isDown = true
  const t = await documentsDoor({
    async read(ctx, path, name) {
      starts.push(t.clock.now().getTime())
      if (isDown) throw new Error('no room at /tmp/secret')
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send()
  await t.run()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING', error_message: null })
  for (let n = 0; n < 2; n++) {
    await t.clock.advance(seconds(11))
    await t.run()
  }
  const failed = await t.read(id)
  expect(failed).toMatchObject({ status: 'FAILED', pages: null })
  expect(failed.error_message).toBe('o documento não pôde ser processado: erro inesperado')
  expect(starts).toHaveLength(3)
  isDown = false
  const again = await t.ask('POST', `/api/documents/${id}/reprocess`)
  expect([again.status, again.body]).toEqual([202, { id, status: 'PENDING' }])
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE', error_message: null, pages: 1 })
  expect((await t.engine.jobs.list({ kind: 'process-document' })).items).toHaveLength(1)
})

test('a reprocess of a document that waits or is at work starts no second job', async () => {
  const held = gate()
  const begun = gate()
  const t = await documentsDoor({
    async read(ctx, path, name) {
      begun.open()
      await held.passed
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send()
  expect((await t.ask('POST', `/api/documents/${id}/reprocess`)).body).toEqual({ id, status: 'PENDING' })
  const running = t.run()
  await begun.passed
  expect((await t.ask('POST', `/api/documents/${id}/reprocess`)).body).toEqual({ id, status: 'PROCESSING' })
  held.open()
  await running
  expect(await t.read(id)).toMatchObject({ status: 'DONE' })
  expect((await t.engine.jobs.list({ kind: 'process-document' })).items).toHaveLength(1)
})

test('an attempt whose document was erased ends, and writes nothing', async () => {
  const held = gate()
  const begun = gate()
  const t = await documentsDoor({
    async read(ctx, path, name) {
      begun.open()
      await held.passed
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send()
  const running = t.run()
  await begun.passed
  expect((await t.ask('DELETE', `/api/documents/${id}`)).status).toBe(204)
  held.open()
  await running
  expect((await t.engine.query(`select from documents.documents`)).rowCount).toBe(0)
  expect((await t.engine.query(`select from retoma.job`)).rowCount).toBe(0)
})

test('a worker that stops gives the document back as PENDING', async () => {
  const begun = gate()
  const t = await documentsDoor({
    async read(ctx) {
      begun.open()
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      throw new Error('never')
    },
  })
  const id = await t.send()
  const worker = await t.engine.work({ queues: { documents: 1 } })
  await begun.passed
  expect(await t.read(id)).toMatchObject({ status: 'PROCESSING' })
  await worker.stop()
  expect(await t.read(id)).toMatchObject({ status: 'PENDING', error_message: null })
})

test('a document whose job a person cancels, or whose job the engine fails, is FAILED with that reason', async () => {
  const t = await documentsDoor()
  const [one, other] = [await t.send(), await t.send()]
  const jobs = (await t.engine.jobs.list({ kind: 'process-document' })).items
  await t.engine.jobs.cancel(jobs.at(-1)!.id, { by: 'ana' })
  await t.engine.jobs.fail(jobs[0]!.id, 'parado por uma regra', { by: 'ana', code: 'rule' })
  expect(await t.read(one)).toMatchObject({ status: 'PENDING' })
  await t.schedule()
  await t.clock.advance(seconds(301))
  await t.schedule()
  await t.work()
  const messages = [await t.read(one), await t.read(other)].map(({ status, error_message }) => [status, error_message])
  expect(messages.sort()).toEqual([
    ['FAILED', 'o processamento terminou sem resultado'],
    ['FAILED', 'parado por uma regra'],
  ])
})

test.each([
  [
    'crash',
    'poison',
    'its process died 3 times: w-17',
    /^o processamento terminou várias vezes junto com o seu processo/,
  ],
  ['orphan', null, 'orphan: the worker died while it ran this job', /^o processamento terminou várias vezes/],
  ['timeout', null, 'the attempt took longer than 15 min on w-17', /^o processamento passou do tempo limite/],
  ['error', 'isolated_unusable', 'the file /srv/read.js', /^o processamento terminou sem resultado/],
  ['error', null, 'connection to 10.0.0.7 refused', /^o processamento terminou sem resultado/],
  ['stalled', null, 'Processing timeout (watchdog)', /^Processing timeout \(watchdog\)$/],
])(
  'a job that the engine ended (%s) gives the document a sentence in Portuguese without internals',
  async (type, code, message, words) => {
    const t = await documentsDoor()
    const id = await t.send()
    const [job] = (await t.engine.jobs.list({ kind: 'process-document' })).items
    await t.engine.jobs.fail(job!.id, message, { by: 'ana' })
    await t.engine.query(`update retoma.job set error = $2 where id = $1`, [
      job!.id,
      { type, code, message, stack: null },
    ])
    await t.schedule()
    await t.clock.advance(seconds(301))
    await t.schedule()
    await t.work()
    expect(await t.read(id)).toMatchObject({ status: 'FAILED', error_message: expect.stringMatching(words) })
  },
)

test('a reprocess starts a job for a document whose job has ended without its handler', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  const [job] = (await t.engine.jobs.list({ kind: 'process-document' })).items
  await t.engine.jobs.cancel(job!.id, { by: 'ana' })
  expect((await t.ask('POST', `/api/documents/${id}/reprocess`)).status).toBe(202)
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE' })
})

test('a wait for a child process is no failure of the document, also after two failures', async () => {
  const ends = [new Error('no room'), new Error('no room'), noChildFree(seconds(30), 'foreground')]
  const t = await documentsDoor({
    async read(ctx, path, name) {
      const end = ends.shift()
      if (end !== undefined) throw end
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send()
  for (let n = 0; n < 2; n++) {
    await t.run()
    expect(await t.read(id)).toMatchObject({ status: 'PENDING', error_message: null })
    await t.clock.advance(seconds(11))
  }
  // The third attempt finds no free child process, and the fourth attempt finds one.
  for (let n = 0; n < 2; n++) {
    await t.run()
    await t.clock.advance(seconds(61))
  }
  expect(ends).toEqual([])
  expect(await t.read(id)).toMatchObject({ status: 'DONE' })
})

test('a document whose file is missing is FAILED with that reason', async () => {
  const t = await documentsDoor()
  const id = await t.send()
  await t.engine.query(`update documents.documents set file_id = 0`)
  await t.run()
  expect(await t.read(id)).toMatchObject({
    status: 'FAILED',
    error_message: 'o arquivo do documento não existe mais: envie o documento de novo',
  })
})

test('a reprocess that fails keeps what an earlier run has read', async () => {
  let isBroken = false
  const t = await documentsDoor({
    async read(ctx, path, name) {
      if (isBroken) return { trouble: new RetomaError(errors.document_encrypted, {}) }
      return readAtOnce(ctx, path, name)
    },
  })
  const id = await t.send({ name: 'a.pdf' })
  await t.work()
  isBroken = true
  await t.ask('POST', `/api/documents/${id}/reprocess`)
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'FAILED', pages: 1, title: 'a.pdf' })
  expect((await t.list('?q=aviso')).items).toMatchObject([{ id }])
})
