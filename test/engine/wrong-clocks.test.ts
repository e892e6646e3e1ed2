/** Processes whose clocks are wrong: the database's decides (P7). Only what people name by their own clock is off. */

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { createEngine, defineJob, defineSchedule, minutes, seconds } from '../../src/index.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { gate, shareDatabase, until } from '../support/engine.ts'

const off = (ms: number): Clock => ({ ...systemClock, now: () => new Date(systemClock.now().getTime() + ms) })

test('with clocks ten minutes ahead and behind nothing is recovered early, and every occurrence of a schedule fires once', async () => {
  const url = await shareDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const begun: string[] = []
  const released = gate()
  const hold = defineJob({
    kind: 'hold',
    run: async ({ id }) => {
      begun.push(id)
      await released.passed
    },
  })
  const tidy = defineJob({ kind: 'tidy', queue: 'tidy', run: () => 'done' })
  const schedules = [defineSchedule({ name: 'tidy', job: tidy, every: seconds(1), catchUp: 'all' })]
  const engines = await Promise.all(
    [minutes(10), -minutes(10)].map(
      async ms =>
        await createEngine({
          databaseUrl: url,
          jobs: [hold],
          schedules,
          clock: off(ms),
          connections: 4,
        }),
    ),
  )
  onTestFinished(async () => void (await Promise.all(engines.map(each => each.close()))))
  // One place each: both hold one.
  for (const engine of engines) await engine.work({ queues: { default: 1, tidy: 1 } })
  const { ids } = await engines[0]!.enqueueMany(hold, [undefined, undefined])
  await until(() => begun.length === 2)
  for (const engine of [...engines, ...engines]) {
    // As if its turn had come: nobody waits five seconds here.
    await client.query(`update retoma.periodic_lease set at = at - interval '5 seconds'`)
    await client.query(`update retoma.worker set suspected_at = suspected_at - interval '30 seconds'`)
    await internalsOf(engine).tick()
  }
  const slots = async () =>
    (await client.query<{ ref: string }>(`select ref from retoma.job where kind = 'tidy' order by ref`)).rows.map(
      ({ ref }) => Date.parse(ref),
    )
  await until(async () => (await slots()).length >= 4)
  const fired = await slots()
  expect(fired).toEqual(fired.map((_, n) => fired[0]! + n * 1000))
  expect((await client.query(`select from retoma.failure`)).rowCount).toBe(0)
  released.open()
  for (const id of ids)
    expect(await engines[1]!.wait({ job: id })).toMatchObject({ state: 'succeeded', attempt: 1, restarts: 0 })
})
