/** The overview: the one sentence of health for each trouble, and the button beside the sentence that helps. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob } from '../../src/index.ts'
import { type Facts, problemsOf } from '../../web/src/pages/overview/health.ts'
import { webApp } from './support/app.ts'
import { openPage, screenshots, violations } from './support/browser.ts'

type Queue = Facts['queues'][number]
type Worker = Facts['workers'][number]
type Batch = Facts['batches'][number]
type Provider = Facts['providers'][number]

const queue = (more: Partial<Queue> = {}): Queue =>
  ({ queue: 'letters', paused: false, ready: 0, scheduled: 0, running: 0, stalled: 0, limits: {}, ...more }) as Queue
const worker = (more: Partial<Worker> = {}): Worker =>
  ({ id: 'w1', host: 'alfa', queues: { letters: 5 }, dead: false, blocked: null, ...more }) as Worker
const factsOf = (more: Partial<Facts> = {}): Facts => ({
  stats: { watchdog_lag_seconds: 2 } as Facts['stats'],
  queues: [queue()],
  workers: [worker()],
  batches: [],
  providers: [],
  ...more,
})

test.each<[string, Partial<Facts>, string[]]>([
  ['nothing wrong', {}, []],
  ['jobs that wait for a slot are no trouble', { queues: [queue({ ready: 900, running: 5 })] }, []],
  ['the watchdog is late', { stats: { watchdog_lag_seconds: 90 } as Facts['stats'] }, ['watchdog_late']],
  ['no watchdog ever', { stats: { watchdog_lag_seconds: null } as Facts['stats'] }, ['watchdog_late']],
  ['no worker, and jobs wait', { workers: [], queues: [queue({ ready: 3 })] }, ['no_worker']],
  ['no worker and nothing to do', { workers: [] }, []],
  ['only dead workers', { workers: [worker({ dead: true })], queues: [queue({ ready: 1 })] }, ['no_worker']],
  [
    'nobody serves a queue',
    { workers: [worker({ queues: { other: 1 } })], queues: [queue({ ready: 1 })] },
    ['queue_starved'],
  ],
  ['a paused queue with jobs', { queues: [queue({ paused: true, ready: 1 })] }, ['queue_paused']],
  ['a paused queue without jobs', { queues: [queue({ paused: true })] }, []],
  ['stalled jobs', { queues: [queue({ stalled: 2 })] }, ['jobs_stalled']],
  [
    'a stalled and a paused batch',
    { batches: [{ state: 'paused' }, { state: 'stalled' }] as Batch[] },
    ['batch_stalled', 'batch_paused'],
  ],
  ['a blocked worker', { workers: [worker({ blocked: { seconds: 9 } as Worker['blocked'] })] }, ['worker_blocked']],
  [
    'a stopped and a waiting provider',
    { providers: [{ state: 'waiting' }, { state: 'stopped' }] as Provider[] },
    ['provider_stopped', 'provider_waits'],
  ],
])('the health with %s', (_, more, expected) => {
  expect(problemsOf(factsOf(more)).map(each => each.is)).toEqual(expected)
})

const markup = '<img src=x onerror="document.title=1"> <b>negrito</b>'

const letter = defineJob({
  kind: 'letter',
  queue: 'letters',
  maxAttempts: 1,
  run: (_, { n }: { n: number }) => {
    if (n % 3 === 0) throw new Error(`caixa cheia: ${markup}`)
    return n
  },
})
const letters = defineBatch({ name: 'letters', job: letter })

test('the overview says what is wrong, the button helps, and markup in an error stays text', async () => {
  const { engine, url } = await webApp({ jobs: [letter], engine: { batches: [letters] } })
  await using _worker = await engine.work({ queues: { letters: 3 } })
  const batch = await engine.submit(
    letters,
    [1, 2, 3, 4, 5, 6].map(n => ({ n })),
  )
  await engine.wait({ batch: batch.id })
  await engine.queues.pause('letters')
  await engine.enqueue(letter, { n: 1 })
  const { page, problems } = await openPage(url)
  const sentence = page.getByText('A fila letters está pausada e 1 job espera')
  await sentence.waitFor()
  await expect.poll(() => page.title()).toBe('(1) Visão geral · Retoma')
  const icon = () => page.locator('link[rel=icon]').getAttribute('href')
  expect(await icon()).toMatch(/favicon-trouble\.svg$/)
  await page.getByText('2×').waitFor()
  expect(await page.getByText(`caixa cheia: ${markup}`).count()).toBe(1)
  expect(await violations(page)).toEqual([])
  expect(await screenshots(page, 'overview')).toEqual([])
  await page.getByRole('button', { name: 'Retomar a fila' }).click()
  await page.getByText('A fila letters voltou a andar').waitFor()
  await page.getByText(/Tudo andando|Nada para fazer agora/).waitFor()
  await expect.poll(() => page.title()).toBe('Visão geral · Retoma')
  expect(await icon()).toMatch(/favicon\.svg$/)
  expect(problems).toEqual([])
})
