/** A report runs every night at two o'clock in São Paulo, once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineJob, defineSchedule, hours } from 'retoma'
import { testEngine } from 'retoma/testing'

const report = defineJob({ kind: 'report', run: (_, { night }: { night: string }) => `report of ${night}` })
const nightly = defineSchedule({
  name: 'nightly',
  job: report,
  cron: '0 2 * * *',
  timeZone: 'America/Sao_Paulo',
  input: occurrence => ({ night: occurrence.toISOString() }),
})

test('two days have two reports, at 02:00 in São Paulo', async () => {
  await using t = await testEngine({ jobs: [report], schedules: [nightly], start: new Date('2026-03-10T12:00:00Z') })
  await t.schedule()
  for (let hour = 0; hour < 48; hour++) {
    await t.clock.advance(hours(1))
    await t.schedule()
    await t.run()
  }
  const { items } = await t.engine.jobs.list({ kind: 'report' })
  assert.deepEqual(items.map(({ ref }) => ref).sort(), ['nightly@2026-03-11T05:00:00Z', 'nightly@2026-03-12T05:00:00Z'])
  assert.deepEqual(new Set(items.map(({ state }) => state)), new Set(['succeeded']))
})
