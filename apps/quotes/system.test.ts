/** /api/system: the routes of the seed, who may call them, and the numbers that they answer. */
import { seconds } from 'retoma'
import { expect, test } from 'vitest'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { quotesDoor } from './test/door.ts'

test('the eight routes of the seed answer, and health is open to everybody', async () => {
  const analysis = simulatedAnalysis(async () => {})
  const t = await quotesDoor({
    providers: {
      analysis: {
        ...analysis,
        async analyse(request, signal) {
          await t.clock.sleep(seconds(45), signal)
          return analysis.analyse(request, signal)
        },
      },
    },
  })
  const nothing = { total_processing: 0, stuck_count: 0, by_checkpoint: {}, avg_processing_time_seconds: null }
  expect(await t.stats()).toEqual(nothing)
  const id = await t.batch(['cadeira', 'Fiat Strada Volcano 1.3 2023'])
  await t.work()
  const { avg_processing_time_seconds: average, ...others } = await t.stats()
  expect({ ...others, avg_processing_time_seconds: null }).toEqual(nothing)
  expect(average).toBeGreaterThanOrEqual(45)
  expect(average).toBeLessThan(50)
  expect((await t.ask('GET', '/metrics')).body).toContain(`\nretoma_quotes_avg_processing_seconds ${average}\n`)
  const { token } = await t.engine.tokens.create({ user: 'ana', role: 'viewer' })
  const as = async (method: string, path: string, given?: string) => {
    const { status, body } = await t.ask(method, `/api/system/${path}`, given === undefined ? {} : { token: given })
    return [status, body]
  }
  expect(await as('GET', 'health')).toEqual([200, { status: 'ok' }])
  for (const path of ['processing-stats', 'stuck-quotes', `batch-status/${id}`]) {
    expect((await as('GET', path))[0], path).toBe(401)
    expect((await as('GET', path, token))[0], path).toBe(200)
  }
  const operator = (await t.engine.tokens.create({ user: 'rui', role: 'operator' })).token
  for (const path of ['recover-stuck', 'recover-quote/1', `resume-batch/${id}`, 'cleanup-old']) {
    expect((await as('POST', path, token))[0], path).toBe(403)
    expect((await as('POST', path, operator))[0], path).toBeLessThan(405)
  }
  await t.clock.advance(seconds(3700))
  expect((await as('GET', 'processing-stats', token))[1]).toEqual(nothing)
})

test('errors are in Portuguese unless the caller asks for English', async () => {
  const { fetch } = await quotesDoor()
  const words = async (language?: string) => {
    const headers = language === undefined ? {} : { 'accept-language': language }
    const response = await fetch(new Request('http://127.0.0.1:3000/api/quotes/77', { headers }))
    return ((await response.json()) as { error: { message: string } }).error.message
  }
  expect(await words()).toBe('não existe cotação "77"')
  expect(await words('en')).toBe('there is no quote "77"')
})
