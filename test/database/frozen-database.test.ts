/**
 * A PostgreSQL server whose processes are all stopped (SIGSTOP): every connection stays open, and no statement gets an answer. A frozen
 * virtual machine and a hanging disk look the same to a client.
 */
import { expect, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { openEmbedded } from '../../src/embedded-postgres/index.ts'
import { createEngineOn } from '../../src/engine/create-engine.ts'
import { createEngine, defineJob } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { house, mind, processesBelow, signal } from '../embedded-postgres/support.ts'
import { doorOf } from '../http/support.ts'
import { gate, until } from '../support/engine.ts'

const deadlineMs = 4000

const note = defineJob<string>({ kind: 'note', run: async () => {} })
const hold = defineJob<null>({
  kind: 'hold',
  run: async () => {
    started.open()
    await mayEnd.passed
  },
})
const started = gate()
const mayEnd = gate()

test('while the database is frozen /health is live, /ready and reads answer 503 in seconds, an enqueue says whether its job may be committed, and afterwards all work goes on', async () => {
  const dataDir = await house()
  const { url } = mind(await openEmbedded({ dataDir, fsync: false }))
  const options = { databaseUrl: url, jobs: [note, hold], log: silentLog }
  await using engine = await createEngineOn(given => openDb({ ...given, deadlineMs }), options)
  await engine.work()
  const door = doorOf(engine)
  // The statements of this engine have the usual deadline of 30 s.
  await using other = await createEngine(options)
  const patient = doorOf(other)
  expect((await patient.ask('GET', '/api/v1/jobs')).status).toBe(200)
  await until(async () => (await door.ask('GET', '/ready')).status === 200)
  const held = await engine.enqueue(hold, null)
  await started.passed

  const frozen = processesBelow(dataDir)
  signal(frozen, 'SIGSTOP')
  try {
    const reading = ['/api/v1/jobs', '/api/v1/batches', `/api/v1/jobs/${held.id}`].map(path => patient.ask('GET', path))
    const posting = door.ask('POST', '/api/v1/jobs', { body: { kind: 'note', input: 'over HTTP' } })
    const keyed = engine.enqueue(note, 'keyed', { key: 'once' }).catch((error: unknown) => error)
    const lone = Array.from({ length: 6 }, (_, i) => engine.enqueue(note, `lone ${i}`).catch((error: unknown) => error))
    expect((await door.ask('GET', '/health')).status).toBe(200)
    const unready = await door.ask('GET', '/ready')
    expect(unready).toMatchObject({ status: 503, body: { error: { code: 'database_timeout', seconds: 2 } } })

    const posted = await posting
    expect(posted).toMatchObject({
      status: 503,
      body: { error: { code: 'database_timeout', seconds: deadlineMs / 1000, maybe_committed: true } },
    })
    expect(await keyed).toMatchObject({ code: 'database_timeout', maybeCommitted: true })
    for (const error of await Promise.all(lone))
      expect(error).toMatchObject({
        code: expect.stringMatching(/^database_(timeout|unreachable)$/),
        maybeCommitted: expect.any(Boolean),
      })
    for (const read of await Promise.all(reading))
      expect(read).toMatchObject({
        status: 503,
        body: { error: { code: 'database_timeout', seconds: 7, maybe_committed: false } },
      })
    expect((await door.ask('GET', '/health')).status).toBe(200)
  } finally {
    signal(frozen, 'SIGCONT')
  }

  await until(async () => (await door.ask('GET', '/ready')).status === 200)
  const again = await engine.enqueue(note, 'keyed', { key: 'once' })
  mayEnd.open()
  for (const id of [held.id, again.id]) expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
  await until(async () => (await engine.jobs.list({ state: 'waiting' })).items.length === 0)
  const { items } = await engine.jobs.list({ kind: 'note', limit: 100 })
  expect(items.filter(job => job.key === 'once')).toHaveLength(1)
  expect(new Set(items.map(job => job.state))).toEqual(new Set(['succeeded']))
})
