/** Runs the recipes of docs/serverless.md as a host runs them: the code of the page itself, on a migrated database. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApp, type FetchHandler } from '../../src/http/index.ts'
import { createEngine, type Engine, type Job } from '../../src/index.ts'
import { shareDatabase } from '../support/engine.ts'

const cronSecret = 'a-secret-of-the-cron'

/** The part of the module that the reader brings. `engines` is for the end of the test. */
const brought = `
import { createEngine as create, defineJob } from 'retoma'
export const reminded: string[] = []
export const engines: Promise<import('retoma').Engine>[] = []
const createEngine: typeof create = async options => {
  const opened = create(options)
  engines.push(opened)
  return opened
}
export const remind = defineJob({
  kind: 'remind',
  run: (_, { number }: { number: string }) => {
    reminded.push(number)
  },
})
`

interface Recipe {
  reminded: string[]
  engines: Promise<Engine>[]
  remind: Job<{ number: string }>
}

/** The first block of code below the heading, as a module. */
async function recipe<Exports>(heading: string): Promise<Recipe & Exports> {
  const page = await readFile(new URL('../../docs/serverless.md', import.meta.url), 'utf8')
  const block = page.split(`\n## ${heading}\n`)[1]!.match(/^```ts\n(.*?)^```/ms)![1]!
  const folder = await mkdtemp(join(tmpdir(), 'retoma-recipe-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'recipe.ts')
  await writeFile(file, brought + block.replace("import { createEngine } from 'retoma'\n", ''))
  const made: Recipe & Exports = await import(file)
  onTestFinished(async () => {
    for (const opened of made.engines) await (await opened).close()
  })
  return made
}

test('the recipe for Vercel works on jobs when the cron calls, and refuses a caller without the secret', async () => {
  vi.stubEnv('DATABASE_URL', await shareDatabase())
  vi.stubEnv('CRON_SECRET', cronSecret)
  const { GET, POST, engines, remind, reminded } = await recipe<{
    GET(request: Request): Promise<Response>
    POST(request: Request): Promise<Response>
  }>('Vercel')
  await (await engines[0]!).enqueue(remind, { number: '1' })
  const tick = 'https://app.example.com/retoma/api/v1/cron/tick?work=45s'
  expect((await GET(new Request(tick))).status).toBe(401)
  expect(reminded).toEqual([])
  const response = await GET(new Request(tick, { headers: { authorization: `Bearer ${cronSecret}` } }))
  expect(await response.json()).toMatchObject({ work: { attempts: 1, succeeded: 1, empty: true } })
  expect(reminded).toEqual(['1'])
  expect(POST).toBe(GET)
})

test('the recipe for Lambda works on jobs in a call, and ends in order a call with little time left', async () => {
  vi.stubEnv('DATABASE_URL', await shareDatabase())
  const { handler, engines, remind, reminded } = await recipe<{
    handler(event: unknown, context: { getRemainingTimeInMillis(): number }): Promise<unknown>
  }>('AWS Lambda')
  const engine = await engines[0]!
  await engine.enqueue(remind, { number: '1' })
  const answer = await handler({}, { getRemainingTimeInMillis: () => 60_000 })
  expect(answer).toMatchObject({ recovered: 0, attempts: 1, succeeded: 1, empty: true })
  expect(reminded).toEqual(['1'])
  // A slow pass of the watchdog has taken the time. A loaded machine may start no job within the last second.
  await engine.enqueue(remind, { number: '2' })
  expect(await handler({}, { getRemainingTimeInMillis: () => 4000 })).toMatchObject({ recovered: 0, failed: 0 })
})

test('the recipe for Cloudflare enqueues a job once, and its cron works on the job or fails with the reason', async () => {
  const worker = await recipe<{
    default: {
      fetch(request: Request, env: Record<string, string>): Promise<Response>
      scheduled(controller: unknown, env: Record<string, string>): Promise<void>
    }
  }>('Cloudflare Workers')
  const { remind, reminded } = worker
  const engine = await createEngine({ databaseUrl: await shareDatabase(), jobs: [remind], log: false })
  onTestFinished(() => engine.close())
  const app: FetchHandler = createApp(engine, { cronSecret })
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => app.fetch(new Request(url, init)))
  const { token } = await engine.tokens.create({ user: 'cloudflare', role: 'operator' })
  const env = { RETOMA_URL: 'https://retoma.example.com', RETOMA_TOKEN: token, CRON_SECRET: cronSecret }
  const enqueue = async () => {
    const request = new Request('https://worker.example.com/', { method: 'POST', body: '{"number":"7"}' })
    const response = await worker.default.fetch(request, env)
    expect(response.ok, await response.clone().text()).toBe(true)
    return ((await response.json()) as { id: string }).id
  }
  const id = await enqueue()
  expect(await enqueue()).toBe(id)
  await worker.default.scheduled({}, env)
  expect(reminded).toEqual(['7'])
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded' })
  await expect(worker.default.scheduled({}, { ...env, CRON_SECRET: 'another secret' })).rejects.toThrow('cron_refused')
})
