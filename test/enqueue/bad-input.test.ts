/** Whatever is wrong with what comes in: a clear error with a code, soon, and nothing half-written. */
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { translatePgError } from '../../src/database/pg-errors.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import { createEngine, defineJob, type Engine, isRetomaError, milliseconds, seconds } from '../../src/index.ts'
import { engineWith } from '../support/engine.ts'
import { databaseError } from '../support/faulty-db.ts'
import { englishIn } from '../support/portuguese.ts'

const invoice = defineJob({ kind: 'invoice', input: z.object({ number: z.string() }), run: () => 1 })
const any = defineJob({ kind: 'any', run: (_, input: unknown) => input })

const circle: { self?: unknown } = {}
circle.self = circle
const year = (text: string) => new Date(text)

describe('is refused by name, and nothing is written:', () => {
  const cases: [what: string, code: string, says: RegExp, ask: (engine: Engine) => unknown][] = [
    ['an unknown kind', 'unknown_kind', /did you mean "invoice"/, it => internalsOf(it).kind('invoce')],
    ['a field that is missing', 'bad_input', /number/, it => it.enqueue(invoice, {} as never)],
    ['a field of another type', 'bad_input', /number/, it => it.enqueue(invoice, { number: 5 } as never)],
    ['no input at all', 'bad_input', /invoice/, it => it.enqueue(invoice, undefined as never)],
    ['a circular input', 'bad_input', /input\.self contains itself/, it => it.enqueue(any, circle)],
    ['300 MB', 'input_too_large', /more than 8 MB of JSON/, it => it.enqueue(any, 'x'.repeat(300_000_000))],
    ['300 MB in bytes', 'input_too_large', /more than 8 MB/, it => it.enqueue(any, Buffer.alloc(300_000_000))],
    ['300 MB in a list', 'input_too_large', /item 1: .*8 MB/, it => it.enqueueMany(any, [1, 'x'.repeat(300_000_000)])],
    ['what cannot be stored', 'bad_input', /input\.n is a function/, it => it.enqueue(any, { n: () => 1 })],
    ['NUL', 'bad_input', /NUL/, it => it.enqueue(any, 'a\u0000')],
    ['a date that is none', 'bad_option', /runAt/, it => it.enqueue(any, 1, { runAt: year('soon') })],
    ['a date too far', 'bad_option', /runAt/, it => it.enqueue(any, 1, { runAt: year('+010000-01-01') })],
    ['a date before all dates', 'bad_option', /runAt/, it => it.enqueue(any, 1, { runAt: year('-000001-01-01') })],
    ['a date as text', 'bad_option', /runAt/, it => it.enqueue(any, 1, { runAt: '2030-01-01' as never })],
    ['a negative delay', 'bad_option', /delay/, it => it.enqueue(any, 1, { delay: seconds(-1) })],
    ['an endless delay', 'bad_option', /delay/, it => it.enqueue(any, 1, { delay: milliseconds(Infinity) })],
    ['priority 11', 'bad_option', /priority.*0 \(first\) to 9, not 11/, it => it.enqueue(any, 1, { priority: 11 })],
    ['priority -1', 'bad_option', /priority/, it => it.enqueue(any, 1, { priority: -1 })],
    ['half a priority', 'bad_option', /priority/, it => it.enqueue(any, 1, { priority: 4.5 })],
    ['an option with a typo', 'bad_option', /did you mean/, it => it.enqueue(any, 1, { prioritty: 1 } as never)],
  ]
  test.each(cases)('%s', async (_, code, says, ask) => {
    const { engine } = await engineWith(invoice, any)
    const error = await (async () => ask(engine))().catch((refusal: unknown) => refusal)
    expect(isRetomaError(error) && [error.code, error.retryable]).toEqual([code, false])
    expect((error as Error).message).toMatch(says)
    if (/MB|NUL/.test(says.source) || code !== 'bad_input') expect(englishIn(error)).toEqual([])
    expect((error as Error).message.length).toBeLessThan(500)
    expect(await engine.jobs.list()).toEqual({ items: [], next: null })
  })
})

test('300 MB are refused in moments and without their copy in memory', async () => {
  const { engine } = await engineWith(any)
  const rows = Array.from({ length: 300_000 }, (_, i) => ({ i, text: 'z'.repeat(1000) }))
  const before = process.memoryUsage().rss
  await expect(engine.enqueue(any, rows)).rejects.toMatchObject({ code: 'input_too_large' })
  expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
})

describe('a wrong DATABASE_URL is named, with what to look at, and no password shows:', () => {
  const server = () => new URL(inject('serverUrl'))
  const changed = (change: { pathname?: string; username?: string }) => Object.assign(server(), change).href
  test.each<[what: string, url: () => string, code: string]>([
    ['nobody listens there', () => 'postgres://ana:secret@127.0.0.1:1/app', 'database_unreachable'],
    ['no such host', () => 'postgres://ana:secret@nowhere.invalid/app', 'database_unreachable'],
    ['no such database', () => changed({ pathname: '/no_such' }), 'database_refused'],
    ['no such user', () => changed({ username: 'nobody_here' }), 'database_refused'],
  ])('%s', async (_, url, code) => {
    const error = await createEngine({ databaseUrl: url(), jobs: [any] }).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ name: 'RetomaError', code })
    expect(String((error as Error).message)).not.toContain('secret')
  })
})

test.each([
  ['is full of connections', '53300', 'database_unreachable'],
  ['is out of memory', '53200', 'database_unreachable'],
  ['takes no connections just now', '55000', 'database_unreachable'],
  ['starts', '57P03', 'database_unreachable'],
  ['has a full disk', '53100', 'database_full'],
])('a database that %s (%s) is shown as %s: later it may be there again', (_, state, code) => {
  const error = translatePgError(databaseError(state), 'postgres://ana:secret@db/app', false)
  expect(error).toMatchObject({ code, retryable: true })
  expect(String(error)).not.toContain('secret')
})
