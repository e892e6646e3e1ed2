import { describe, expect, test, vi } from 'vitest'
import { isRetomaError, RetomaError } from '../../errors/errors.ts'
import { days, milliseconds, minutes, seconds } from '../../lib/values/duration.ts'
import { defaultBackoff } from './backoff.ts'
import { decide, doNotRetry, type Ended, type Failure, type Outcome, skip, snooze } from './outcome.ts'

const policy = { maxAttempts: 3, maxCrashes: 3, backoff: { ...defaultBackoff, jitter: 0 } }
const job = { kind: 'greet', failures: 0, crashes: 0 }
const after = (ended: Ended, tried: Partial<typeof job> = {}): Outcome =>
  decide({ ...job, ...tried }, policy, ended, 0.5)

/** Returns the stored failure of a thrown value. */
function kept(thrown: unknown): Failure {
  const outcome = after({ thrown })
  if (outcome.state !== 'waiting' || outcome.failure === null) throw new Error(`not a retry: ${outcome.state}`)
  return outcome.failure
}

describe('a handler that returns', () => {
  test('a crash counts as one, keeps its evidence, and at maxCrashes the job is poison whatever tries are left', () => {
    const evidence = { signal: 'SIGSEGV' }
    const died = { thrown: new Error('its process died'), evidence }
    const many = { ...policy, maxAttempts: 10 }
    expect(decide({ ...job, failures: 3, crashes: 1 }, many, died, 0.5)).toMatchObject({
      state: 'waiting',
      failure: { type: 'crash', message: 'its process died', evidence },
    })
    expect(decide({ ...job, failures: 0, crashes: 2 }, many, died, 0.5)).toMatchObject({
      state: 'failed',
      failure: { type: 'crash', code: 'poison', message: expect.stringContaining('3 times'), evidence },
    })
    expect(decide({ ...job, failures: 0, crashes: 2 }, many, { ...died, timedOut: true }, 0.5)).toMatchObject({
      state: 'waiting',
      failure: { type: 'timeout', evidence },
    })
  })

  test('succeeds with its result as JSON, nothing being null', () => {
    expect(after({ returned: { a: 1 } })).toEqual({ state: 'succeeded', result: '{"a":1}' })
    expect(after({ returned: undefined })).toEqual({ state: 'succeeded', result: 'null' })
  })

  test('skips with a reason that can be stored', () => {
    expect(after({ returned: skip('PDF\u0000 sem texto \ud83d') })).toEqual({
      state: 'skipped',
      reason: 'PDF sem texto \ufffd',
    })
    expect(after({ returned: skip(undefined as never) })).toEqual({ state: 'skipped', reason: 'undefined' })
    expect(after({ returned: skip(Object.create(null)) })).toEqual({ state: 'skipped', reason: '{}' })
    const { reason } = after({ returned: skip('x'.repeat(1_000_000)) }) as { reason: string }
    expect(reason).toHaveLength(10_000)
  })

  test('snoozes without a failure, however many there were', () => {
    expect(after({ returned: snooze(minutes(1)) }, { failures: 2 })).toEqual({
      state: 'waiting',
      delay: minutes(1),
      failure: null,
    })
    expect(after({ returned: snooze(milliseconds(0)) })).toMatchObject({ delay: 0 })
  })

  test('fails for good when its result cannot be stored: the work would be done again for nothing', () => {
    const failure = { type: 'error', code: 'bad_value', stack: null }
    const message =
      'bad_value: the result of a greet job cannot be stored: result is a function, which cannot be stored'
    expect(after({ returned: () => 1 })).toEqual({ state: 'failed', failure: { ...failure, message } })
    expect(after({ returned: new Error('x') })).toMatchObject({ state: 'failed', failure })
    expect(after({ returned: { n: 1n } })).toMatchObject({ state: 'succeeded' })
  })

  test('fails for good when its result cannot even be looked at', () => {
    const hostile = new Proxy({}, { getPrototypeOf: () => crash(), get: () => crash(), ownKeys: () => crash() })
    expect(after({ returned: hostile })).toMatchObject({ state: 'failed', failure: { code: 'bad_value' } })
  })
})

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, days(40_000), '5s', undefined])(
  'snooze(%j) is refused where it is said',
  delay => {
    expect(() => snooze(delay as never)).toThrow(/bad_option: the option snooze .* such as minutes\(5\), not/)
  },
)

describe('a handler that throws', () => {
  test('is tried again after its backoff while tries are left', () => {
    const waits = [0, 1].map(failures => after({ thrown: new Error('no') }, { failures }))
    expect(waits).toMatchObject([
      { state: 'waiting', delay: seconds(5), failure: { type: 'error', message: 'no', code: null } },
      { state: 'waiting', delay: seconds(10) },
    ])
  })

  test('fails for good with the last try, and crashes count as tries', () => {
    expect(after({ thrown: new Error('no') }, { failures: 2 })).toMatchObject({
      state: 'failed',
      failure: { message: 'no' },
    })
    expect(after({ thrown: new Error('no') }, { failures: 1, crashes: 1 }).state).toBe('failed')
    expect(after({ thrown: new Error('no') }, { failures: 500 }).state).toBe('failed')
  })

  test('spreads its wait by the jitter', () => {
    const backoff = { ...policy.backoff, jitter: 0.1 }
    const [early, late] = [0, 0.999].map(random => decide(job, { ...policy, backoff }, { thrown: 'x' }, random))
    expect([early, late]).toMatchObject([{ delay: 5000 }, { delay: 5500 }])
  })

  test('out of time is a timeout, with the same budget', () => {
    expect(after({ thrown: new Error('late'), timedOut: true })).toMatchObject({
      state: 'waiting',
      failure: { type: 'timeout' },
    })
    expect(after({ thrown: 'late', timedOut: true }, { failures: 2 })).toMatchObject({
      state: 'failed',
      failure: { type: 'timeout' },
    })
  })
})

describe('doNotRetry', () => {
  test('fails at once, whatever tries are left', () => {
    expect(after({ thrown: doNotRetry('no such account') })).toMatchObject({
      state: 'failed',
      failure: { message: 'no such account' },
    })
  })

  test('keeps the error it was given', () => {
    const error = Object.assign(new TypeError('x'), { code: 'E_X' })
    expect(doNotRetry(error)).toBe(error)
    expect(doNotRetry(doNotRetry(error))).toBe(error)
  })

  test.each([Object.freeze, Object.seal, Object.preventExtensions])('marks an error that takes no mark (%o)', close => {
    const error = close(Object.assign(new TypeError('closed'), { code: 'E_CLOSED' })) as TypeError
    const marked = doNotRetry(error)
    expect(marked).toBeInstanceOf(TypeError)
    expect(after({ thrown: marked })).toMatchObject({
      state: 'failed',
      failure: { message: 'closed', code: 'E_CLOSED', stack: error.stack },
    })
    expect(after({ thrown: doNotRetry(marked) }).state).toBe('failed')
  })

  test.each([undefined, null, { status: 404 }, 7])('takes %j as well, where no compiler forbids it', given => {
    expect(after({ thrown: doNotRetry(given as never) }).state).toBe('failed')
  })
})

describe('whatever is thrown can be read and stored', () => {
  test.each([
    [undefined, 'thrown: undefined'],
    [null, 'thrown: null'],
    ['a text', 'thrown: a text'],
    [7n, 'thrown: 7'],
    [Symbol('s'), 'thrown: Symbol(s)'],
    [{ status: 500 }, 'thrown: {"status":500}'],
    [Object.create(null), 'thrown: {}'],
    [{ toJSON: () => undefined }, 'thrown: [object Object]'],
  ])('%o', (thrown, message) => {
    expect(kept(thrown)).toEqual({ type: 'error', message, code: null, stack: null })
  })

  test('an error with its code, its stack and its causes', () => {
    const cause = new Error('the disk')
    const failure = kept(Object.assign(new Error('no', { cause }), { code: 'E_NO' }))
    expect(failure).toMatchObject({ message: 'no', code: 'E_NO' })
    expect(failure.stack).toMatch(/^Error: no\n.*outcome\.test\.ts.*\ncaused by: Error: the disk\n/s)
    expect(kept(Object.assign(new Error('no'), { code: 404 })).code).toBe('404')
    expect(kept(Object.assign(new Error('no'), { code: { deep: 1 } })).code).toBeNull()
  })

  test('an error without words, by its name', () => {
    expect(kept(new RangeError()).message).toBe('RangeError')
  })

  test('an error that is its own cause', () => {
    const error = new Error('round and round')
    error.cause = error
    expect(kept(error).stack).toContain('caused by: Error: round and round')
  })

  test('an error that is frozen, or has no stack', () => {
    expect(kept(Object.freeze(new Error('cold'))).message).toBe('cold')
    expect(kept(Object.assign(new Error('bare'), { stack: undefined })).stack).toBeNull()
  })

  test.each(['message', 'stack', 'code', 'cause'])('an error whose %s throws when it is read', property => {
    expect(kept(Object.defineProperty(new Error('x'), property, { get: crash })).message).toMatch(/^thrown: |^x$/)
  })

  test('a proxy that throws at every touch', () => {
    const touchy = new Proxy(
      {},
      { get: crash, has: crash, getPrototypeOf: crash, ownKeys: crash, getOwnPropertyDescriptor: crash },
    )
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(kept(touchy).message).toMatch(/^thrown: /)
    expect(kept(proxy).message).toBe('thrown: an object that cannot be read')
  })

  test('NUL and half pairs, in message, code and stack', () => {
    const failure = kept(Object.assign(new Error('a\u0000b\ud83d'), { code: 'E\u0000' }))
    expect(failure).toMatchObject({ message: 'ab\ufffd', code: 'E' })
    expect(failure.stack).not.toContain('\u0000')
    expect(failure.stack?.isWellFormed()).toBe(true)
  })

  test('a very long message, cut between characters', () => {
    const failure = kept(
      Object.assign(new Error(`${'x'.repeat(9999)}😀${'y'.repeat(1_000_000)}`), { code: `${'c'.repeat(199)}😀` }),
    )
    expect(failure.message).toHaveLength(10_000)
    expect(failure.stack?.length).toBeLessThanOrEqual(20_000)
    expect([failure.message, failure.code, failure.stack].every(text => text?.isWellFormed())).toBe(true)
  })
})

describe('what another copy of the library made is understood:', async () => {
  vi.resetModules()
  const [words, errors] = await Promise.all([import('./outcome.ts'), import('../../errors/errors.ts')])

  test('skip, snooze and doNotRetry', () => {
    expect(words.skip).not.toBe(skip)
    expect(after({ returned: words.skip('empty') })).toEqual({ state: 'skipped', reason: 'empty' })
    expect(after({ returned: words.snooze(seconds(5)) })).toMatchObject({
      state: 'waiting',
      delay: 5000,
      failure: null,
    })
    expect(after({ thrown: words.doNotRetry('no') })).toMatchObject({ state: 'failed' })
  })

  test('its errors, by their code; and what only looks like one is none', () => {
    const error = new errors.RetomaError('engine_closed', {})
    expect(error).not.toBeInstanceOf(RetomaError)
    expect(isRetomaError(error)).toBe(true)
    expect(isRetomaError(error, 'engine_closed')).toBe(true)
    expect(isRetomaError(error, 'lease_lost')).toBe(false)
    expect(isRetomaError({ name: 'RetomaError', code: 'engine_closed' })).toBe(false)
    expect(isRetomaError(new Proxy({}, { get: crash }))).toBe(false)
  })
})

test('a refusal of snooze is one of our errors, so that a handler may tell it from its own', () => {
  expect(
    isRetomaError(
      caught(() => snooze(seconds(-1))),
      'bad_option',
    ),
  ).toBe(true)
})

function crash(): never {
  throw new Error('do not look at me')
}

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
