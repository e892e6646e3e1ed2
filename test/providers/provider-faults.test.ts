/** A worker that dies, or loses an answer, while it has to do with a provider. */
import { describe, expect, test } from 'vitest'
import { armProbes, resumeBatches } from '../../src/batches/sql/provider-pauses.ts'
import { providerStop, providerWait, seconds } from '../../src/index.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { until } from '../support/engine.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

const linkLost = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

const stop = () => providerStop({ code: '402', message: 'no credit' })

/** What it says before it answers. */
const words = {
  wait: [() => providerWait({ retryAfter: seconds(10), message: 'slow down' })],
  stop: [stop],
  'stop, then nothing': [stop, () => new Error('500: boom')],
}

/** A job of a batch; the provider gives this answer before it answers well. */
async function runThrough(word: keyof typeof words) {
  let said = 0
  const w = await faultyWorker({
    run: ctx =>
      ctx.step('answer', () =>
        ctx.provider('outside', () => {
          const now = words[word][said++]
          if (now !== undefined) throw now()
          return 'ok'
        }),
      ),
  })
  const id = await w.enqueue()
  await w.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
     values (1000000, 'b', 'k', 'q', '{}', 'running', 4, 1, now(), now())`,
  )
  await w.sql(`update retoma.job set batch_id = 1000000`)
  /** Until it is over: time passes, and what ticks does. */
  const ends = async () => {
    await until(async () => {
      await recoverOrphans(w.real, 10, w.clock.instant())
      await resumeBatches(w.real, w.clock.instant())
      await armProbes(w.real, w.clock.instant())
      await w.clock.advance(seconds(10))
      return (await w.row(id)).state === 'succeeded'
    })
    await resumeBatches(w.real, w.clock.instant())
  }
  return { ...w, id, ends, asked: () => said }
}

describe.each(Object.keys(words) as (keyof typeof words)[])('told to %s', word => {
  const calls = {
    wait: ['provider_read', 'provider_wait', 'settle', 'provider_answered'],
    stop: ['provider_read', 'provider_stop', 'batch_pause_by_job', 'settle', 'provider_probe', 'provider_answered'],
    'stop, then nothing': ['provider_probe_failed'],
  }[word]

  test.each(calls)('the answer of %s is lost, or it is never sent: nobody is charged, and it goes on', async name => {
    for (const when of ['before', 'after'] as const) {
      const w = await runThrough(word)
      w.db.fail(name, when, linkLost())
      await w.begin()
      await w.ends()
      expect(w.db.asked).toContain(name)
      const [row] = await w.sql<{ starts: number; failures: number }>(
        `select attempt - uncounted_attempts as starts, * from retoma.job`,
      )
      expect(row).toMatchObject({ starts: 1, failures: 0, crashes: 0, restarts: 0 })
      expect(w.asked()).toBe(words[word].length + 1)
      await w.close()
    }
  })

  // Of a probe, what is between its calls has been seen with the stop.
  const whens = word === 'stop, then nothing' ? (['after'] as const) : (['before', 'after'] as const)
  test.each(whens)(
    'the process is killed, %s each call of the store: nobody is charged, and it goes on',
    async when => {
      const whole = await runThrough(word)
      await whole.begin()
      await whole.ends()
      // From the claim of the attempt that gets the provider's answer to the end of the attempt.
      const heard = whole.db.asked.indexOf(
        { wait: 'provider_wait', stop: 'provider_stop', 'stop, then nothing': 'provider_probe_failed' }[word],
      )
      expect(heard).toBeGreaterThan(0)
      const last = whole.db.asked.indexOf('settle', heard)
      await whole.close()
      for (let nth = whole.db.asked.lastIndexOf('claim', heard); nth <= last; nth++) {
        const w = await runThrough(word)
        await w.beginAndDie(w.db.dieAt(nth, when))
        await w.takeOver()
        await w.ends()
        const [row] = await w.sql<{ starts: number }>(
          `select attempt - uncounted_attempts as starts, * from retoma.job`,
        )
        // One that was killed may have begun.
        expect(row).toMatchObject({ failures: 0, crashes: 0 })
        expect(row!.starts).toBeLessThanOrEqual(2)
        expect(await w.sql(`select state, claims_blocked, reason from retoma.batch`)).toEqual([
          { state: 'running', claims_blocked: false, reason: null },
        ])
        await w.close()
      }
    },
  )
})
