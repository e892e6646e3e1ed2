/** Tenants share a queue: at most two jobs of a tenant run at once, and a tenant starts at most five jobs a minute. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngine, defineJob, minutes } from 'retoma'
import { testEngine } from 'retoma/testing'

test('no tenant has more than two running jobs, and one named tenant has four', async () => {
  const running = new Map<string, number>()
  const most = new Map<string, number>()
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const render = defineJob({
    kind: 'render',
    queue: 'render',
    run: async (_, { tenant }: { tenant: string }) => {
      running.set(tenant, (running.get(tenant) ?? 0) + 1)
      most.set(tenant, Math.max(most.get(tenant) ?? 0, running.get(tenant)!))
      if ([...running.values()].reduce((sum, each) => sum + each, 0) === 8) release()
      await released
      running.set(tenant, running.get(tenant)! - 1)
    },
  })
  await using engine = await createEngine({
    jobs: [render],
    limits: { render: { perGroup: { concurrency: 2, 'tenant-3': { concurrency: 4 } } } },
  })
  const handles = []
  for (const tenant of ['tenant-1', 'tenant-2', 'tenant-3'])
    for (let count = 0; count < 6; count++) handles.push(await engine.enqueue(render, { tenant }, { groupKey: tenant }))
  await using _worker = await engine.work({ queues: { render: 20 } })
  await Promise.all(handles.map(handle => handle.result()))
  assert.deepEqual(Object.fromEntries(most), { 'tenant-1': 2, 'tenant-2': 2, 'tenant-3': 4 })
})

test('a tenant starts five jobs a minute, and the other tenant does not wait', async () => {
  const call = defineJob({ kind: 'call', queue: 'calls', run: () => 'called' })
  await using t = await testEngine({
    jobs: [call],
    limits: { calls: { perGroup: { rate: { limit: 5, per: minutes(1) } } } },
  })
  await t.engine.enqueueMany(call, Array.from({ length: 12 }), { groupKey: 'large' })
  await t.engine.enqueueMany(call, Array.from({ length: 2 }), { groupKey: 'small' })
  assert.equal(await t.run(), 7)
  await t.clock.advance(minutes(1))
  assert.equal(await t.run(), 5)
  await t.clock.advance(minutes(1))
  assert.equal(await t.run(), 2)
})
