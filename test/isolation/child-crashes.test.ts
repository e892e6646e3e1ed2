/** The end of a child is one crash of one job, with evidence; no other job is affected. */
import { expect, test } from 'vitest'
import { defineJob, megabytes, seconds } from '../../src/index.ts'
import { gate, until } from '../support/engine.ts'
import { begun, jobIn } from './jobs.ts'
import { isAlive, workingOn } from './support.ts'

test.each([
  ['process', 'exit', 'its process died: it called process.exit(3)', { signal: null, exitCode: 3 }, /handler\.mjs/],
  ['process', 'abort', 'its process died: SIGABRT', { signal: 'SIGABRT', exitCode: null }, undefined],
  ['process', 'uncaught', 'its process died: an error that nobody caught: boom', { exitCode: 1 }, /thrownByNobody/],
  [
    'process',
    'rejected',
    'its process died: an error that nobody caught: nobody hears this',
    { exitCode: 1 },
    /handler\.mjs/,
  ],
  ['thread', 'exit', 'its thread died: it called process.exit(3)', { signal: null, exitCode: 3 }, /handler\.mjs/],
  ['thread', 'uncaught', 'its thread died: an error that nobody caught: boom', { exitCode: 1 }, /thrownByNobody/],
] as const)(
  '%s, %s: a crash that says how, and the next attempt has a new child',
  async (place, deed, message, evidence, stack) => {
    const job = jobIn(place, { maxAttempts: 2 })
    const { ends } = await workingOn(job)
    const ended = await ends(job, { do: deed })
    expect(ended).toMatchObject({ state: 'failed', attempt: 2, failures: 0, crashes: 2 })
    expect(ended.history).toHaveLength(2)
    for (const each of ended.history) {
      expect(each).toMatchObject({
        type: 'crash',
        code: 'child_crashed',
        message: `child_crashed: ${message}`,
        evidence,
      })
      if (stack) expect(each.stack).toMatch(stack)
    }
  },
)

test.each(['process', 'thread'] as const)(
  '%s: one that allocates without end is stopped at its memory',
  async place => {
    const job = jobIn(place, { maxAttempts: 1, memory: megabytes(192) })
    const { ends } = await workingOn(job)
    const ended = await ends(job, { do: 'allocate' })
    expect(ended).toMatchObject({ state: 'failed', crashes: 1, failures: 0 })
    expect(ended.history).toMatchObject([
      {
        type: 'crash',
        message: `child_crashed: its ${place} died: it went over its memory of 192 MB`,
        evidence: { stderr: 'about to allocate\n' },
      },
    ])
    if (place === 'process') expect(ended.history[0]!.evidence!.memoryBytes).toBeGreaterThan(megabytes(192))
  },
)

test('what a job leaves in memory is not the undoing of the next: a child that has grown is not used again', async () => {
  const job = jobIn('process', { memory: megabytes(256) })
  const { ends } = await workingOn(job)
  const before = (await ends(job, { do: 'answer' })).result as { at: string }
  expect((await ends(job, { do: 'leak' })).result).toBe(before.at)
  expect((await ends(job, { do: 'answer' })).result).not.toMatchObject({ at: before.at })
})

test('a job that crashes maxCrashes times is poison, whatever attempts it has left', async () => {
  const job = jobIn('process', { maxAttempts: 10, maxCrashes: 2 })
  const { ends } = await workingOn(job)
  expect(await ends(job, { do: 'exit' })).toMatchObject({
    state: 'failed',
    attempt: 2,
    crashes: 2,
    failures: 0,
    error: {
      code: 'poison',
      message:
        'poison: it has crashed 2 times and is not run again; the last time: child_crashed: its process died: it called process.exit(3)',
    },
  })
})

test.each(['thread', 'process'] as const)(
  '%s: an endless loop ends at its timeout, as a failure, and its neighbours lose nothing',
  async place => {
    const job = jobIn(place, { maxAttempts: 1, timeout: seconds(1) })
    const other = jobIn(place, { kind: 'other' })
    const { engine, ends } = await workingOn(job, other)
    const neighbour = await engine.enqueue(other, { do: 'listen' })
    const before = await begun(engine, neighbour.id)
    const ended = await ends(job, { do: 'spin' })
    expect(ended).toMatchObject({ state: 'failed', failures: 1, crashes: 0, error: { code: 'attempt_timeout' } })
    expect(ended.history).toMatchObject([
      { type: 'timeout', evidence: { signal: place === 'process' ? 'SIGKILL' : null } },
    ])
    expect(await engine.job(neighbour.id)).toMatchObject({
      state: 'running',
      attempt: 1,
      progress: { note: before.at },
    })
  },
)

test('inline jobs and other children go on while a child dies', async () => {
  const crashing = jobIn('process', { maxAttempts: 1 })
  const other = jobIn('process', { kind: 'other' })
  const release = gate()
  const inline = defineJob({ kind: 'inline', run: () => release.passed.then(() => 'done') })
  const { engine, ends } = await workingOn(crashing, other, inline)
  const beside = await engine.enqueue(inline, undefined)
  const away = await engine.enqueue(other, { do: 'listen' })
  const { pid } = await begun(engine, away.id)
  expect(await ends(crashing, { do: 'abort' })).toMatchObject({ crashes: 1 })
  expect(isAlive(pid)).toBe(true)
  release.open()
  expect(await engine.wait({ job: beside.id })).toMatchObject({ state: 'succeeded', attempt: 1 })
  expect(await engine.job(away.id)).toMatchObject({ state: 'running', attempt: 1, failures: 0, crashes: 0 })
})

test('what an earlier job left behind in a child is not charged to the job that runs there now', async () => {
  const job = jobIn('process')
  const { ends } = await workingOn(job)
  const { result: at } = await ends(job, { do: 'mine' })
  const ended = await ends(job, { do: 'arm' })
  expect(ended).toMatchObject({ state: 'succeeded', attempt: 2, failures: 0, crashes: 0, history: [] })
  expect(ended.result).not.toBe(at)
})

test("a child that died while it was idle is nobody else's crash, though its death is not yet reported", async () => {
  const job = jobIn('process')
  const { ends } = await workingOn(job)
  const pid = Number(String((await ends(job, { do: 'dieLater' })).result).split('/')[0])
  await until(() => !isAlive(pid))
  expect(await ends(job, { do: 'answer' })).toMatchObject({ state: 'succeeded', attempt: 1, crashes: 0 })
})

test('a transaction whose child died in it is rolled back, and its next attempt applies it once', async () => {
  const job = jobIn('process')
  const { ends, sql } = await workingOn(job)
  await sql(`create table reported (note text)`)
  try {
    expect(await ends(job, { do: 'halfway', note: 'once' })).toMatchObject({
      state: 'succeeded',
      attempt: 2,
      crashes: 1,
    })
    expect(await sql(`select note from reported`)).toEqual([{ note: 'once' }])
  } finally {
    await sql(`drop table reported`)
  }
})
