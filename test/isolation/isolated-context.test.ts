/** A handler in a thread or a process sees and does what one that runs in the worker does. */
import { expect, test } from 'vitest'
import type { Isolation } from '../../src/index.ts'
import { begun, jobIn } from './jobs.ts'
import { workingOn } from './support.ts'

const places: Isolation[] = ['inline', 'thread', 'process']

test.each(places)(
  '%s: steps, lists, checkpoints, transactions and sleeps are kept, and a later attempt goes on after them',
  async place => {
    const job = jobIn(place)
    const { ends, sql, engine } = await workingOn(job)
    await sql(`create table reported (note text, bytes bytea, day timestamptz)`)
    try {
      const ended = await ends(job, { do: 'everything', note: 'abc' })
      expect(ended).toMatchObject({
        state: 'succeeded',
        attempt: 3,
        failures: 1,
        result: {
          map: ['a,1'],
          at: 0,
          attempt: 1,
          list: ['x1', 'y1'],
          before: { from: 2 },
          written: { n: 3, bytes: 'hi', day: 0 },
        },
        progress: { done: 1, total: 2 },
      })
      expect(ended.history).toMatchObject([{ type: 'error', code: 'E_AGAIN', message: 'again', evidence: null }])
      expect(ended.history[0]!.stack).toMatch(/TypeError: again[\s\S]*handler\.mjs[\s\S]*caused by: Error: deeper/)
      expect(await sql(`select note from reported`)).toEqual([{ note: 'abc' }])
      const { items: lines } = await engine.jobs.logs(ended.id)
      expect(lines.map(({ attempt, level, message, facts }) => [attempt, level, message, facts?.note])).toContainEqual([
        expect.any(Number), 'info', 'told', 'abc',
      ]) // biome-ignore format: a line of a log
    } finally {
      await sql(`drop table reported`)
    }
  },
)

test.each(places)('%s: each call of ctx.cost counts once, in a failed attempt too', async place => {
  const job = jobIn(place)
  const { ends } = await workingOn(job)
  expect(await ends(job, { do: 'cost' })).toMatchObject({
    result: 'bad_option',
    attempt: 2,
    cost: [
      { currency: 'BRL', amount: '6' },
      { currency: 'USD', amount: '0.5' },
    ],
  })
})

test.each(places)(
  '%s: ctx.query reads, keeps nothing, refuses to write, and is no part of a transaction',
  async place => {
    const job = jobIn(place)
    const { ends, sql } = await workingOn(job)
    const { id, result } = await ends(job, { do: 'read', note: 'é' })
    expect(result).toEqual({ note: 'é', bytes: 'hi', refusals: ['25006', '22012', 'in_transaction'] })
    expect(await sql(`select name from retoma.checkpoint where job_id = $1`, [id])).toEqual([])
  },
)

test.each(places)(
  '%s: skip, snooze, doNotRetry, a result that cannot be stored and a step nobody awaited end it as they do',
  async place => {
    const job = jobIn(place, { maxAttempts: 2 })
    const { ends } = await workingOn(job)
    expect(await ends(job, { do: 'skip' })).toMatchObject({ state: 'skipped', error: { message: 'nothing to do' } })
    expect(await ends(job, { do: 'snooze' })).toMatchObject({ state: 'succeeded', result: 'awake', failures: 0 })
    expect(await ends(job, { do: 'final' })).toMatchObject({
      state: 'failed',
      failures: 1,
      error: { message: 'never' },
    })
    expect(await ends(job, { do: 'function' })).toMatchObject({ state: 'failed', error: { code: 'bad_value' } })
    expect(await ends(job, { do: 'forgotten' })).toMatchObject({ state: 'failed', error: { code: 'step_not_awaited' } })
    expect(await ends(job, { do: 'swallowed' })).toMatchObject({
      state: 'failed',
      error: { code: 'transaction_aborted' },
    })
    expect(await ends(job, { do: 'refused' })).toMatchObject({ result: { code: '22012', message: 'division by zero' } })
  },
)

test.each(['thread', 'process'] as const)('%s: a child is used again, and jobs at once have one each', async place => {
  const job = jobIn(place, { version: 3 })
  const { engine, ends } = await workingOn(job)
  const first = (await ends(job, { do: 'answer', note: 'é' })).result as { at: string }
  expect(first).toMatchObject({ note: 'é', attempt: 1, version: 3 })
  expect((await ends(job, { do: 'answer' })).result).toMatchObject({ at: first.at })
  const both = await Promise.all([1, 2].map(() => engine.enqueue(job, { do: 'listen' })))
  const at = await Promise.all(both.map(async ({ id }) => (await begun(engine, id)).at))
  expect(new Set(at).size).toBe(2)
  expect(at).toContain(first.at)
})

test.each(['thread', 'process'] as const)(
  '%s: what a provider says reaches all workers, and hands the attempt back',
  async place => {
    const job = jobIn(place, { maxAttempts: 1 })
    const { ends, engine } = await workingOn(job)
    expect(await ends(job, { do: 'waits' })).toMatchObject({
      state: 'succeeded',
      result: 'answered',
      attempt: 3,
      starts: 1,
      failures: 0,
      history: [],
    })
    expect(await engine.providers.list()).toMatchObject([
      { name: 'outside', state: 'open', consecutiveWaits: 0, message: 'slow down' },
    ])
  },
)
