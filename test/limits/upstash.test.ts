/** Rate windows in Upstash: a stand-in of its REST API in front of a real Redis. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import type { Log } from '../../src/index.ts'
import { milliseconds, minutes, seconds } from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { WindowVerdict } from '../../src/limits/model/rate-window.ts'
import { createUpstash } from '../../src/limits/upstash.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { arrivals, plainJudge } from '../support/arrivals.ts'
import { engineOf, liveEngine } from '../support/engine.ts'
import { hasRedis, type Mood, startUpstash, upstashToken } from '../support/upstash.ts'

const asked = { bucket: 'b', who: 'ana', limit: 10, per: minutes(1) }

function listening() {
  const lines: string[] = []
  const note = (level: string) => (facts: Record<string, unknown>, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(facts)}`)
  const log: Log = {
    debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error'), child: () => log,
  } // biome-ignore format: five verbs
  return { log, lines, shown: () => lines.filter(line => line.includes('Upstash')) }
}

test('with both variables set each check is one question to Upstash, with a window per bucket and user, and none is in PostgreSQL', async () => {
  const commands: string[][] = []
  const authorizations = new Set<string | undefined>()
  /** By key, how often it was asked: each window takes one. */
  const used = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const command = JSON.parse(Buffer.concat(pieces).toString()) as string[]
    commands.push(command)
    authorizations.add(request.headers.authorization)
    const [, , , key = '', limit] = command
    const before = used.get(key) ?? 0
    const granted = before < Number(limit)
    if (granted) used.set(key, before + 1)
    response.end(JSON.stringify({ result: [granted ? 1 : 0, used.get(key), 60_000] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  // A busy machine may take longer than the second that an answer may take.
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
  vi.stubEnv('UPSTASH_REDIS_REST_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', upstashToken)
  const t = await liveEngine([])
  const ask = async (who: string) => (await t.engine.limit({ ...asked, who, limit: 1 })).allowed
  expect([await ask('ana'), await ask('ana'), await ask('rui')]).toEqual([true, false, true])
  expect(commands.map(([action, , keys, key]) => [action, keys, key])).toEqual([
    ['EVAL', '1', 'retoma:limit/b/ana'],
    ['EVAL', '1', 'retoma:limit/b/ana'],
    ['EVAL', '1', 'retoma:limit/b/rui'],
  ])
  expect([...authorizations]).toEqual([`Bearer ${upstashToken}`])
  expect((await t.engine.query('select from retoma.rate_window')).rows).toEqual([])
})

describe.skipIf(!hasRedis)('with redis-server on the PATH', () => {
  test('600 on a bucket of 10, fifty at once: exactly 10 pass, by the clock of Redis', async () => {
    const { url } = await startUpstash()
    const windows = createUpstash({ url, token: upstashToken }, systemClock, seconds(60))
    const answers: WindowVerdict[] = []
    const caller = async () => {
      for (let i = 0; i < 12; i++) answers.push(await windows.take(asked))
    }
    await Promise.all(Array.from({ length: 50 }, caller))
    expect(answers.filter(each => each.granted)).toHaveLength(10)
    const late = await windows.peek(asked)
    expect(late).toMatchObject({ granted: false, used: 10 })
    expect(late.fitsMs).toBeGreaterThan(0)
    expect(late.fitsMs).toBeLessThanOrEqual(60_000)
  })

  test('random arrivals are judged as by one who keeps them all: no wrong verdict', async () => {
    const { url, redis } = await startUpstash()
    await fc.assert(
      fc.asyncProperty(arrivals, async ({ limit, perMs, steps }) => {
        await redis('FLUSHALL')
        const clock = new VirtualClock()
        const windows = createUpstash({ url, token: upstashToken }, clock)
        const plain = plainJudge(limit, perMs)
        for (const { wait, who } of steps) {
          await clock.advance(milliseconds(wait))
          const found = await windows.take({ bucket: 'b', who, limit, per: milliseconds(perMs) })
          const { granted, used, fitsMs } = found
          const expected = plain(who, clock.elapsed())
          expect({ granted, remaining: limit - used, waitMs: granted ? 0 : fitsMs }).toEqual(expected)
        }
      }),
      { numRuns: 12 },
    )
  })

  test('above 256 in a window at most 257 instants are kept, and no stretch has more than the limit', async () => {
    const { url, redis } = await startUpstash()
    const clock = new VirtualClock()
    const windows = createUpstash({ url, token: upstashToken }, clock)
    const passed: number[] = []
    for (let i = 0; i < 600; i++) {
      if ((await windows.take({ ...asked, limit: 257, per: seconds(1) })).granted) passed.push(clock.elapsed())
      await clock.advance(milliseconds(3))
    }
    for (const end of passed)
      expect(passed.filter(each => each > end - 1000 && each <= end).length).toBeLessThanOrEqual(257)
    expect(passed.length).toBeGreaterThan(400)
    expect(await redis('ZCARD', 'retoma:limit/b/ana')).toBeLessThanOrEqual(257)
    expect(await redis('PTTL', 'retoma:limit/b/ana')).toBeGreaterThan(1000)
  })

  test('the engine keeps its windows there, and nothing in PostgreSQL', async () => {
    const { url, redis } = await startUpstash()
    const { engine } = await engineOf({ rateLimits: { url, token: upstashToken } })
    expect(await engine.limit({ ...asked, limit: 1 })).toEqual({
      allowed: true, limit: 1, remaining: 0, retryAfterSeconds: 0, resetSeconds: 60,
    }) // biome-ignore format: five facts
    expect(await engine.limit({ ...asked, limit: 1 })).toMatchObject({ allowed: false, retryAfterSeconds: 60 })
    expect(await internalsOf(engine).peekLimit({ ...asked, limit: 2 })).toMatchObject({ allowed: true, remaining: 1 })
    expect(await redis('DBSIZE')).toBe(1)
  })

  test('whatever it answers but a judgement, PostgreSQL judges instead; that is reported once, and so is its return', async () => {
    for (const mood of [401, 500, 'garbage', 'error', 'other', 'half', 'never'] as Mood[]) {
      const upstash = await startUpstash()
      const { log, lines, shown } = listening()
      const { engine, clock } = await engineOf({ log, rateLimits: { url: upstash.url, token: upstashToken } })
      const limit = () => engine.limit({ ...asked, who: String(mood), limit: 2 })
      expect(await limit()).toMatchObject({ allowed: true, remaining: 1 })
      upstash.mood = mood
      // Its windows begin empty here, and hold.
      expect([await limit(), await limit(), await limit()]).toMatchObject([
        { allowed: true, remaining: 1 },
        { allowed: true, remaining: 0 },
        { allowed: false },
      ])
      expect(upstash.asked).toBe(2)
      await clock.advance(seconds(5))
      await limit()
      expect(upstash.asked).toBe(3)
      expect(shown()).toHaveLength(1)
      upstash.mood = 'well'
      await clock.advance(seconds(5))
      expect(await limit()).toMatchObject({ allowed: true, remaining: 0 })
      expect(shown()).toHaveLength(2)
      expect(shown()[1]).toMatch(/^info Upstash answers again/)
      expect(lines.join('\n')).not.toContain(upstashToken)
      expect(lines.join('\n')).not.toContain(upstash.url)
    }
  })

  test('while one tries whether it is back, the others do not wait for it', async () => {
    const upstash = await startUpstash()
    const { engine, clock } = await engineOf({ rateLimits: { url: upstash.url, token: upstashToken } })
    upstash.mood = 500
    await engine.limit(asked)
    upstash.mood = 'never'
    await clock.advance(seconds(5))
    const heard = upstash.next()
    const first = engine.limit(asked)
    await heard
    expect(await engine.limit(asked)).toMatchObject({ allowed: true, remaining: 8 })
    expect(await first).toMatchObject({ allowed: true, remaining: 7 })
    expect(upstash.asked).toBe(2)
  })
})

test('an Upstash that is not there costs no limit: PostgreSQL judges', async () => {
  const { log, shown } = listening()
  const { engine } = await liveEngine([], { log, rateLimits: { url: 'http://127.0.0.1:9', token: upstashToken } })
  const answers = await Promise.all(Array.from({ length: 50 }, () => engine.limit(asked)))
  expect(answers.filter(each => each.allowed)).toHaveLength(10)
  expect(shown()).toHaveLength(1)
})

test('what cannot be an address or a token is refused when the engine is made, without repeating it', async () => {
  for (const given of [
    { url: 'redis://h', token: 't' },
    { url: 'https://user:secret@h', token: 't' },
    { url: 'https://h', token: 'a b' },
  ]) {
    const error = await liveEngine([], { rateLimits: given }).catch((refusal: Error) => refusal)
    expect(error).toMatchObject({ code: 'bad_option' })
    expect(String(error)).not.toMatch(/secret|a b/)
  }
})
