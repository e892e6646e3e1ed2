/** A workflow of five steps with an outside call continues after the step that failed. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createEngine, defineJob, seconds } from 'retoma'

test('no finished step runs a second time, and the payment is asked for once', async () => {
  let payments = 0
  const bank = createServer((_, response) => {
    payments++
    response.end(JSON.stringify({ receipt: `r-${payments}` }))
  })
  await new Promise<void>(resolve => bank.listen(0, '127.0.0.1', resolve))
  const { port } = bank.address() as AddressInfo

  const runs: string[] = []
  let isPrinterBroken = true
  const order = defineJob({
    kind: 'order',
    backoff: { first: seconds(0.05) },
    run: async (ctx, { number }: { number: string }) => {
      const step = <T>(name: string, work: () => T | Promise<T>) =>
        ctx.step(name, () => {
          runs.push(name)
          return work()
        })
      const items = await step('reserve', () => ['book', 'pen'])
      const { receipt } = await step('pay', async () => {
        const response = await fetch(`http://127.0.0.1:${port}/pay`, { method: 'POST', signal: ctx.signal })
        return (await response.json()) as { receipt: string }
      })
      await ctx.transaction('save', tx => tx.query('insert into shop_order values ($1, $2)', [number, receipt]))
      const label = await step('label', () => {
        if (isPrinterBroken) {
          isPrinterBroken = false
          throw new Error('the printer is out of paper')
        }
        return `label of ${number}`
      })
      await step('notify', () => undefined)
      return { items, receipt, label }
    },
  })

  await using engine = await createEngine({ jobs: [order] })
  await engine.query('create table shop_order (number text, receipt text)')
  await using _worker = await engine.work()
  const result = await (await engine.enqueue(order, { number: 'A-17' })).result()
  assert.deepEqual(result, { items: ['book', 'pen'], receipt: 'r-1', label: 'label of A-17' })
  assert.deepEqual(runs, ['reserve', 'pay', 'label', 'label', 'notify'])
  assert.equal(payments, 1)
  assert.deepEqual((await engine.query('select * from shop_order')).rows, [{ number: 'A-17', receipt: 'r-1' }])
  bank.close()
})
