/** The probe of a stopped provider, one job a minute, if the provider does not answer. */
import { describe, expect, test } from 'vitest'
import { type AnyJob, defineBatch, defineJob, doNotRetry, seconds } from '../../src/index.ts'
import { jobIn } from '../isolation/jobs.ts'
import { engineOf, gate, until } from '../support/engine.ts'
import { batchOf, items, jobAsking, jobsOf, passes, service, sqlOf, stop, wait } from '../support/providers.ts'

const trouble = () => new Error('500: boom')

/** A batch that is stopped for its provider. */
async function stopped(job: AnyJob, count = 4, limits = {}) {
  const batch = batchOf(job)
  const t = await engineOf({ batches: [batch], limits })
  const { id } = await t.engine.submit(batch, items(count))
  await t.run()
  expect((await t.engine.batch(id))!.state).toBe('paused')
  const provider = async () => (await t.engine.providers.list())[0]!
  return { t, id, provider, batch }
}

describe('a probe that meets trouble', () => {
  test.each([1, 4])(
    'is charged to nobody of %d, says so beside the words of the stop, and is made again in a minute',
    async count => {
      const outside = service(() => stop())
      const { t, id, provider } = await stopped(
        jobAsking(id => outside.ask(id), { maxAttempts: 1 }),
        count,
      )
      outside.says = trouble
      const before = outside.calls.length
      for (let minute = 1; minute <= 3; minute++) {
        for (let check = 0; check < 4; check++) await passes(t, seconds(15))
        await passes(t, seconds(1))
        expect(outside.calls.length - before).toBe(minute)
      }
      expect(await provider()).toMatchObject({
      state: 'stopped', code: '402', message: 'Insufficient credits', probeError: '500: boom', probeErrorAt: expect.any(Date),
    }) // biome-ignore format: one row
      expect(await t.engine.batch(id)).toMatchObject({
      state: 'paused', failed: 0, reason: { provider: 'openrouter', message: 'Insufficient credits' },
    }) // biome-ignore format: one row
      for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ state: 'waiting', starts: 0, failures: 0 })
      // Not always the same job: the problem may concern a single item.
      expect(new Set(outside.calls.slice(before)).size).toBe(Math.min(count, 2))
      outside.says = () => 'ok'
      await passes(t, seconds(61))
      await t.run()
      expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', failed: 0 })
      for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ starts: 1, failures: 0 })
      expect(await provider()).toMatchObject({ state: 'open', probeError: null, probeErrorAt: null })
    },
  )

  test('that is a time-out of the step or of the attempt: likewise', async () => {
    for (const kind of ['step', 'attempt']) {
      const outside = service(() => stop())
      let asked = gate()
      const job = defineJob({
        kind,
        queue: 'q',
        maxAttempts: 1,
        timeout: seconds(kind === 'step' ? 50 : 20),
        run: ctx =>
          ctx.step(
            'answer',
            () =>
              ctx.provider('openrouter', async signal => {
                const answer = outside.ask(ctx.id)
                asked.open()
                if (answer !== 'never') return answer
                return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
              }),
            { timeout: seconds(30) },
          ),
      })
      const { t, id, provider } = await stopped(job, 2)
      outside.says = () => 'never'
      for (let minute = 1; minute <= 2; minute++) {
        asked = gate()
        await t.clock.advance(seconds(61))
        await t.tick()
        const run = t.run()
        await asked.passed
        await t.clock.advance(seconds(35))
        await run
      }
      expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 0, waiting: 2 })
      for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ state: 'waiting', starts: 0, failures: 0 })
      const { message, probeError, state } = await provider()
      expect({ state, message }).toEqual({ state: 'stopped', message: 'Insufficient credits' })
      expect(probeError).toContain(kind === 'step' ? 'step_timeout' : 'attempt_timeout')
    }
  })

  test('in a handler that runs in a child: likewise', async () => {
    const job = jobIn('thread', { maxAttempts: 1 })
    const batch = defineBatch({ name: 'b', job })
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, [{ do: 'stops' }])
    await t.run()
    const provider = async () => (await t.engine.providers.list())[0]
    await passes(t, seconds(61))
    expect(await provider()).toMatchObject({
      state: 'stopped',
      message: 'Insufficient credits',
      probeError: '500: boom',
    })
    expect(await jobsOf(t, id)).toMatchObject([{ state: 'waiting', starts: 0, failures: 0 }])
  })

  test('is not tried again by its step, and keeps no secret', async () => {
    const outside = service(() => stop())
    const job = defineJob({
      kind: 'ask',
      queue: 'q',
      maxAttempts: 1,
      run: ctx => ctx.step('answer', () => ctx.provider('openrouter', () => outside.ask(ctx.id)), { maxAttempts: 5 }),
    })
    const { t, provider } = await stopped(job as AnyJob, 2)
    outside.says = () => new Error('GET https://x.example/?api_key=abc123 500')
    const before = outside.calls.length
    await passes(t, seconds(61))
    expect(outside.calls).toHaveLength(before + 1)
    expect((await provider()).probeError).toMatch(/^GET https:\/\/x\.example\/\?api_key=… 500$/)
  })

  test('that is a wait: the words of the stop stay', async () => {
    const outside = service(() => stop())
    const { t, provider, id } = await stopped(
      jobAsking(id => outside.ask(id)),
      2,
    )
    outside.says = () => wait(90)
    await passes(t, seconds(61))
    expect(await provider()).toMatchObject({
      state: 'stopped',
      code: '402',
      message: 'Insufficient credits',
      probeError: 'slow down',
    })
    outside.says = () => stop()
    await passes(t, seconds(100))
    expect(await provider()).toMatchObject({ state: 'stopped', message: 'Insufficient credits', probeError: null })
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 0 })
  })

  test('of that item alone, such as one that cannot be answered, is charged to it', async () => {
    const outside = service(() => stop())
    const { t, id } = await stopped(
      jobAsking(id => outside.ask(id)),
      2,
    )
    outside.says = () => doNotRetry(new Error('too long'))
    await passes(t, seconds(61))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 1, waiting: 1 })
  })

  test('after a person resumed is deferred once, and from then on a failure as any other', async () => {
    const outside = service(() => stop())
    const [asked, answer] = [gate(), gate()]
    let isSlow = false
    const job = jobAsking(
      async id => {
        if (!isSlow) return outside.ask(id)
        isSlow = false
        asked.open()
        await answer.passed
        throw trouble()
      },
      { maxAttempts: 1 },
    )
    const { t, id } = await stopped(job, 1)
    isSlow = true
    await t.clock.advance(seconds(61))
    await t.tick()
    const run = t.run()
    await asked.passed
    await t.engine.batches.resume(id)
    answer.open()
    await run
    expect(await jobsOf(t, id)).toMatchObject([{ state: 'waiting', starts: 0, failures: 0 }])
    outside.says = trouble
    await t.clock.advance(seconds(5))
    await t.run()
    expect(await jobsOf(t, id)).toMatchObject([{ state: 'failed', starts: 1, failures: 1 }])
  })

  test('is reported: why a batch is stopped, and what its last probe met', async () => {
    const outside = service(() => stop())
    const { t, id } = await stopped(
      jobAsking(id => outside.ask(id)),
      2,
    )
    outside.says = trouble
    await passes(t, seconds(61))
    const sentences = {
      en: 'has stopped: Insufficient credits; the last time it was asked: 500: boom; one item a minute asks it again',
      pt: 'parou: Insufficient credits; na última consulta: 500: boom; um item por minuto o consulta',
    } as const
    for (const language of ['en', 'pt'] as const)
      expect((await t.engine.explain({ batch: id }, { language })).sentence).toContain(sentences[language])
    const [item] = await jobsOf(t, id)
    expect((await t.engine.explain({ job: item!.id }, { language: 'en' })).sentence).toContain(
      'has stopped: Insufficient credits; the last time it was asked: 500: boom; it is asked once a minute',
    )
  })
})

test('a probe that ends its process: another asks when its minute is over, and nobody is charged a failure', async () => {
  const outside = service(() => stop())
  const { t, id } = await stopped(
    jobAsking(id => outside.ask(id)),
    2,
  )
  await t.clock.advance(seconds(61))
  await t.tick()
  await sqlOf(
    t,
    `with taken as (
       update retoma.job set state = 'running', attempt = attempt + 1, worker_id = 'gone', started_at = run_at
       where id = (select probe_job from retoma.provider) returning id
     )
     update retoma.provider p set probe_job = null from taken`,
  )
  outside.says = () => 'ok'
  await until(async () => {
    await passes(t, seconds(20))
    return (await t.engine.batch(id))!.state === 'succeeded'
  })
  for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ failures: 0 })
})
