/** Pages read by a real worker: each price is read in another process with limits, and a hostile page ends there. */
import { defineJob, seconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { liveEngine } from '../../../test/support/engine.ts'
import { createPageFetcher } from '../price-pages/fetch-page.ts'
import { priceLimits, priceModule, readLink } from '../price-pages/price-reader.ts'
import { garbage } from './servers/behaviours.ts'
import { shopServer } from './servers/shop.ts'

test('a page is read in another process; a page that takes too long there has no price, and the job goes on', async () => {
  const shop = await shopServer()
  onTestFinished(() => shop.close())
  const fetcher = createPageFetcher({ now: () => new Date(0), allow: [shop.allow] })
  const read = defineJob<{ path: string; timeout: number }>({
    kind: 'read',
    run: async (ctx, { path, timeout }) => {
      const limits = { ...priceLimits, timeout: seconds(timeout) }
      const found = await readLink(
        fetcher,
        page => ctx.isolated('price', priceModule, page, limits),
        `${shop.origin}${path}`,
        ctx.signal,
      )
      return found.found
        ? { price: found.price, title: found.title }
        : { reason: found.reason, bytes: found.page?.length }
    },
  })
  // The parser keeps a list of the open tags, and searches the list.
  const hostile = `${'<a>'.repeat(400_000)}${'</b>'.repeat(100_000)}`
  shop.behave(({ about }) => (about === '/p/hostile' ? garbage(hostile) : null))
  const { engine } = await liveEngine([read])
  await using _worker = await engine.work({ queues: { default: 2 } })
  const ended = async (path: string, timeout: number) => {
    const { id } = await engine.enqueue(read, { path, timeout })
    return (await engine.wait({ job: id })).result
  }
  expect(await ended('/p/1', 60)).toEqual({ price: shop.priceOf('/p/1'), title: 'Produto /p/1' })
  expect(await ended('/p/hostile', 1)).toEqual({ reason: 'unreadable', bytes: hostile.length })
  expect(await ended('/p/2', 60)).toEqual({ price: shop.priceOf('/p/2'), title: 'Produto /p/2' })
})
