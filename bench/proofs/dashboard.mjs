/**
 * The dashboard in a real browser beside millions of finished jobs: each page of the operation, a batch of a million items from end to
 * end, and a batch that runs at a given pace while a person watches. The rows are written by statements; the paced batch runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, defineBatch } from '../../dist/index.js'
import { openBrowser, openPage } from '../lib/browser.mjs'
import { grouped, median, part, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { toEnqueue } from '../lib/jobs.mjs'
import { addFinished, addHistory, addLargeBatch } from '../lib/large-batch.mjs'
import { until } from '../lib/until.mjs'
import { startWorker } from '../lib/worker.mjs'

export const title =
  'beside 10,000,000 finished jobs: first paint in 1 s, reads of each page in 300 ms; a batch of 1,000,000 is scrolled, and one at 5,000 items/s is watched, without a task over 100 ms'

const visits = 3
const restMs = 10_000
const longestTaskMs = 100
const rate = 5000
/** Until the first item is due: to submit them all. */
const aheadMs = 6000
const simulatedMinutes = 30

export async function prove(proof) {
  const { room, scale, say } = proof
  const server = await room.server()
  const database = await server.database()
  const batch = defineBatch({ name: 'many', job: toEnqueue('noop') })
  const engine = await createEngine({ databaseUrl: database.url, batches: [batch] })
  room.atEnd(() => engine.close())
  const began = performance.now()
  const rows = Math.round(10_000_000 * scale)
  await addFinished(database, rows)
  await addHistory(database)
  const large = await addLargeBatch({ database, engine, batch, items: Math.round(1_000_000 * scale), say })
  await database.sql('vacuum analyze retoma.job')
  say(`${grouped(rows)} finished jobs and the batch: ${round((performance.now() - began) / 1000)} s`)
  engine.watch()
  let port
  startHelper(room, 'serve', { url: database.url, open: true }, message => {
    port ??= message.port
  })
  await until(() => port !== undefined, { what: 'the server' })
  const url = `http://127.0.0.1:${port}`
  const browser = await openBrowser(room)
  const [{ id: job }] = await database.sql(
    `select id from retoma.job where state = 'failed' and batch_id is null limit 1`,
  )

  const paths = [
    ...[
      '/',
      '/batches',
      `/batches/${large}`,
      `/batches/${large}?state=failed`,
      `/batches/${large}?ref=none`,
      `/batches/${large}?state=skipped`,
    ],
    ...['/jobs', '/jobs?state=failed', '/jobs?ref=f-77', '/jobs?error=cause+7', `/jobs/${job}`],
    ...[
      '/queues',
      '/queues/bench',
      '/workers',
      '/schedules',
      '/guards',
      '/providers',
      '/incidents',
      '/tokens',
      '/settings',
    ],
  ]
  for (const path of paths) await visit(proof, browser, url, path)
  await scroll(proof, browser, `${url}/batches/${large}`)
  await watch(proof, { browser, url, database, engine, batch })
}

/** A page, opened anew each time: without a cache, after the server has answered once. */
async function visit({ atMost, hold }, browser, url, path) {
  const paints = []
  const slowest = []
  let worst
  for (let n = 0; n < visits; n++) {
    const { page, firstPaint, reads, close } = await openPage(browser)
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await atRest(page, reads)
    paints.push(await firstPaint())
    const all = reads().toSorted((a, b) => b.ms - a.ms)
    if (all.length < 2) hold(`${path} reads the API`, false)
    slowest.push(all[0]?.ms ?? 0)
    worst = all[0]
    if ((await page.getByRole('alert').count()) > 0) hold(`${path} shows an error`, false)
    await close()
  }
  atMost(`${path}: first paint`, median(paints), 1000, ' ms')
  atMost(`${path}: slowest read (${worst?.path})`, median(slowest), 300, ' ms')
}

/** Until no further read is under way: reads that recur come seconds apart. */
async function atRest(page, reads) {
  const deadline = Date.now() + restMs
  for (let count = -1, found = 0; count !== found && Date.now() < deadline; ) {
    count = found
    await page.waitForTimeout(400)
    found = reads().length
  }
}

/** From the first item to the last: in small steps, in leaps, and with the scroll bar. */
async function scroll({ atMost, hold, say }, browser, address) {
  const { page, longestTask, reads, close } = await openPage(browser)
  await page.goto(address)
  const rows = page.getByRole('rowgroup', { name: 'Itens' })
  await rows.getByRole('row').first().waitFor()
  await sleep(2000)
  await longestTask()
  const before = reads().length
  await rows.evaluate(async element => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    for (let n = 0; n < 300; n++) {
      element.scrollBy(0, 120)
      await frame()
    }
    for (let n = 1; n <= 200; n++) {
      element.scrollTo(0, (element.scrollHeight * n) / 200)
      for (let wait = 0; wait < 5; wait++) await frame()
    }
  })
  await rows.getByRole('link').last().waitFor()
  await sleep(1000)
  const all = reads()
    .slice(before)
    .map(each => each.ms)
  say(`${grouped(all.length)} reads while scrolling, p95 ${round(part(all, 0.95))} ms`)
  atMost('longest task while scrolling to the last item', await longestTask(), longestTaskMs, ' ms')
  const last = await rows.getByRole('link').last().textContent()
  hold(`the last item is on the screen: ${last}`, last.startsWith('item-'))
  await close()
}

/** A person watches a batch at its pace; then the page passes half an hour on a simulated clock. */
async function watch({ room, scale, atMost, atLeast, say }, { browser, url, database, engine, batch }) {
  const seconds = Math.max(10, Math.round(60 * scale))
  await startWorker(room, { url: database.url, jobs: [{ name: 'noop' }], queues: { bench: 50 } })
  const first = Date.now() + aheadMs + seconds * 200
  async function* items() {
    for (let n = 0; n < rate * seconds; n++) yield { runAt: new Date(first + (n * 1000) / rate) }
  }
  const { id } = await engine.submit(batch, items(), { each: ({ runAt }) => ({ runAt }) })
  const { page, longestTask, heap, close } = await openPage(browser)
  await page.goto(`${url}/batches/${id}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await until(() => Date.now() >= first)
  const heaps = []
  let longest = 0
  for (let n = 0; n < seconds; n += 2) {
    await sleep(2000)
    // Before the collection of garbage that the measurement forces.
    longest = Math.max(longest, await longestTask())
    heaps.push(await heap())
    await longestTask()
  }
  const { rate: seen, succeeded } = await engine.batch(id)
  say(
    `${grouped(succeeded)} of ${grouped(rate * seconds)} items ended in ${seconds} s, ${round(seen ?? 0)} a second at the end`,
  )
  // Without the pace, the bounds below would be those of an easier page.
  atLeast('items a second while watching', succeeded / seconds, 0.9 * rate)
  atMost('longest task while watching', longest, longestTaskMs, ' ms')
  atMost('live objects at the end over those at the beginning', flatness(heaps), 1.1, ' ×')
  await close()
  await passTime({ scale, atMost, say }, { browser, url, engine, batch })
}

const flatness = heaps => {
  const fifth = Math.max(1, Math.floor(heaps.length / 5))
  return median(heaps.slice(-fifth)) / median(heaps.slice(fifth, 2 * fifth))
}

/** A batch that goes on slowly, on a page whose clock runs 60 times as fast: every read, tick and drawing of half an hour. */
async function passTime({ scale, atMost, say }, { browser, url, engine, batch }) {
  const minutes = Math.max(3, Math.round(simulatedMinutes * scale))
  async function* items() {
    for (let n = 0; n < minutes * 100; n++) yield { runAt: new Date(Date.now() + n * 10) }
  }
  const { id } = await engine.submit(batch, items(), { each: ({ runAt }) => ({ runAt }) })
  const { page, heap, close } = await openPage(browser)
  await page.clock.install()
  await page.goto(`${url}/batches/${id}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const heaps = []
  for (let minute = 0; minute < minutes; minute++) {
    for (let step = 0; step < 12; step++) {
      await page.clock.runFor(5000)
      await sleep(80)
    }
    heaps.push(await heap())
  }
  say(`${minutes} simulated minutes: ${heaps.map(each => round(each / 1e6, 1)).join(', ')} MB of live objects`)
  atMost('live objects at the end of the simulated time over those at its beginning', flatness(heaps), 1.1, ' ×')
  await close()
}
