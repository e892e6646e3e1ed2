/** The simulated providers look real: the same answer for the same text, 3 to 12 shops, some without stock, some prices far off. */
import { expect, test } from 'vitest'
import { centsOf } from '../../money.ts'
import { summarise } from '../../statistics.ts'
import { simulatedPages, simulatedShopping } from './shopping.ts'

const instantly = async () => {}
const { signal } = new AbortController()
const seenAt = new Date('2030-01-01T00:00:00Z')

async function marketOf(query: string) {
  const shopping = simulatedShopping(instantly)
  const read = simulatedPages(instantly, () => seenAt)
  const { products } = await shopping.search(query, signal)
  const found = await Promise.all(products.map(product => shopping.shops(product, signal)))
  const shops = found.flatMap(each => each.shops)
  return { products, shops, pages: await Promise.all(shops.map(({ link }) => read(link, signal))) }
}

test('each text has 3 to 12 shops, the same each time; over many texts some are out of stock and some prices are outliers', async () => {
  const counts = new Set<number>()
  let [outOfStock, outliers, priced] = [0, 0, 0]
  for (let n = 0; n < 200; n++) {
    const query = `produto ${n}`
    const market = await marketOf(query)
    if (n < 20) expect(await marketOf(query)).toEqual(market)
    counts.add(market.shops.length)
    expect(new Set(market.shops.map(({ link }) => link)).size).toBe(market.shops.length)
    outOfStock += market.pages.filter(page => !page.found && page.reason === 'out_of_stock').length
    const prices = market.pages.flatMap(page => (page.found ? [centsOf(page.price)] : []))
    priced += prices.length
    outliers += summarise(prices).judged.filter(each => !each.used).length
  }
  expect([...counts].sort((a, b) => a - b)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  for (const part of [outOfStock / priced, outliers / priced]) {
    expect(part).toBeGreaterThan(0.03)
    expect(part).toBeLessThan(0.25)
  }
})
