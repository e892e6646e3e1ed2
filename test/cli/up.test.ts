/** The built program as people run it: one `up` on an embedded PostgreSQL, and commands beside it. The order matters. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answer, folderWith, type Program, processesIn, run, start } from './support.ts'

const config = `import { defineConfig, defineJob, skip, seconds } from 'retoma'
const hello = defineJob({ kind: 'hello', run: async (ctx, input: { name: string }) => ({ greeting: process.env.WORD + input.name }) })
const nothing = defineJob({ kind: 'nothing', run: async () => skip('nada a fazer') })
const broken = defineJob({ kind: 'broken', maxAttempts: 1, run: async () => { throw new TypeError('boom') } })
export default defineConfig({
  jobs: [hello, nothing, broken],
  queues: { default: 4 },
  limits: { default: { concurrency: 8, rate: { limit: 6000, per: seconds(60) }, perGroup: { concurrency: 2, admit: { limit: 50, per: seconds(60) } }, maxDepth: 500 } },
})
`

let folder: string
let up: Program
let address: string

beforeAll(async () => {
  folder = folderWith({ 'retoma.config.ts': config, '.env': 'PORT=0\nWORD="Olá, "\n' }, 'file')
  up = start(['up', '--json'], { folder })
  address = JSON.parse(await up.said('}\n')).address
})

afterAll(async () => {
  up.tell('SIGTERM')
  await up.ended
})

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}

const job = (...args: string[]) => answer(['jobs', 'enqueue', ...args, '--wait'], { folder })

test('up answers at the address it prints', async () => {
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const response = await fetch(`${address}/health`)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ status: 'ok' })
})

test('a job enqueued on the command line is run by up, which knows what .env says', async () => {
  const { code, stdout } = await run(['jobs', 'enqueue', 'hello', '{"name":"Ana"}', '--wait', '--ref', 'A-17'], {
    folder,
  })
  expect(code).toBe(0)
  expect(stdout).toMatch(/state +succeeded/)
  expect(stdout).toMatch(/ref +A-17/)
  expect(stdout).toMatch(/result +\{"greeting":"Olá, Ana"\}/)
})

test('input is read from stdin with -', async () => {
  const { stdout } = await run(['jobs', 'enqueue', 'hello', '-', '--wait', '--json'], {
    folder,
    input: '{"name":"Bia"}',
  })
  expect(JSON.parse(stdout)).toMatchObject({ result: { greeting: 'Olá, Bia' } })
})

test('a job of the config that answers skip() is skipped: there is one copy of the library', async () => {
  expect(await job('nothing')).toMatchObject({ state: 'skipped', error: { message: 'nada a fazer' } })
})

test('a job that failed makes --wait exit 1, and show has its stack', async () => {
  const { code, stdout } = await run(['jobs', 'enqueue', 'broken', '--wait', '--json'], { folder })
  expect(code).toBe(1)
  const { id } = JSON.parse(stdout)
  const shown = await run(['jobs', 'show', id], { folder })
  expect(shown.stdout).toMatch(/error +boom/)
  expect(shown.stdout).toMatch(/TypeError: boom\n +at .*retoma\.config\.ts:4/)
})

test('with --json every answer is one document in the shape of the API', async () => {
  type List = { items: Record<string, unknown>[]; next: string | null }
  const { items, next } = await answer<List>(['jobs', 'list', '--limit', '2'], { folder })
  expect(items).toHaveLength(2)
  expect(items[0]).toMatchObject({ id: expect.any(String), kind: 'broken', group_key: null, state: 'failed' })
  expect(items[0]!.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  const rest = await answer<List>(['--json', 'jobs', 'list', '--after', next!], { folder })
  expect(rest).toMatchObject({ next: null })
  expect(rest.items.map(each => each.kind)).toEqual(['hello', 'hello'])
  expect(await answer(['status'], { folder })).toMatchObject({
    queues: [{ queue: 'default', ready: 0, scheduled: 0, running: 0, stalled: 0 }],
    workers: [{ queues: { default: 4 }, heartbeat_age_seconds: expect.any(Number) }],
  })
})

test('queues shows what a queue allows, pauses it for up, and lets it go on', async () => {
  const { stdout } = await run(['queues', 'list'], { folder })
  expect(stdout).toMatch(
    /default.*limits: 8 at once, 6000 starts in 1m, each group 2 at once, 50 enqueued in 1m, at most 500 waiting\n/,
  )
  const paused = await run(['queues', 'pause', 'default'], { folder })
  expect(paused).toMatchObject({ code: 0, stdout: 'queue default is paused\n' })
  const { id } = await answer<{ id: string }>(['jobs', 'enqueue', 'hello', '{"name":"Caio"}'], { folder })
  const shown = {
    concurrency: 8,
    rate: { limit: 6000, per_ms: 60_000 },
    per_group: { concurrency: 2, admit: { limit: 50, per_ms: 60_000 } },
    max_depth: 500,
  }
  expect(await answer(['queues', 'list'], { folder })).toMatchObject({
    items: [{ queue: 'default', paused: true, ready: 1, limits: shown }],
  })
  const { queues } = await answer<{ queues: { queue: string; limits: unknown }[] }>(['status'], { folder })
  expect(queues.find(each => each.queue === 'default')!.limits).toEqual(shown)
  const env = { LANG: 'pt_BR.UTF-8' }
  expect(await run(['queues', 'pause', 'default'], { folder, env })).toMatchObject({
    stdout: 'a fila default já estava pausada\n',
  })
  expect(await run(['queues', 'resume', 'default'], { folder })).toMatchObject({ stdout: 'queue default goes on\n' })
  await expect
    .poll(() => answer(['jobs', 'show', id], { folder }))
    .toMatchObject({ state: 'succeeded', result: { greeting: 'Olá, Caio' } })
  expect(await run(['queues', 'pause', 'nobody'], { folder, env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('não existe fila "nobody"'),
  })
})

test('retry and cancel act on each id and exit 1 when one could not', async () => {
  const { id } = await answer<{ id: string }>(['jobs', 'enqueue', 'hello', '{"name":"x"}', '--delay', '1h'], { folder })
  const both = await run(['jobs', 'cancel', id, '999', '--json'], { folder })
  expect(both.code).toBe(1)
  expect(JSON.parse(both.stdout).items).toMatchObject([
    { id, state: 'cancelled', changed: true },
    { id: '999', error: { code: 'not_found' } },
  ])
  const again = await run(['jobs', 'cancel', id], { folder, env: { LANG: 'pt_BR.UTF-8' } })
  expect(again).toMatchObject({ code: 0, stdout: `o job ${id} já estava cancelado\n` })
})

test('a job that succeeded runs again from scratch when that is asked for, and not otherwise', async () => {
  const { id } = await answer<{ id: string }>(['jobs', 'enqueue', 'hello', '{"name":"Eva"}', '--wait'], { folder })
  const refused = await run(['jobs', 'retry', id], { folder })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('wrong_state') })
  const { stdout } = await run(['jobs', 'retry', id, '--from-scratch'], { folder })
  expect(stdout).toBe(`job ${id} waits to run again from scratch; what its steps had saved is deleted\n`)
  await expect
    .poll(async () => (await run(['jobs', 'show', id], { folder })).stdout)
    .toMatch(/what happened.* enqueued\n.* action: rerun\n.*#2 +started\n.*#2 +succeeded\n/s)
})

test('stdin is not read without -: it may hold the lines of a loop', async () => {
  const lines = join(folderWith({ lines: 'one\ntwo\n' }), 'lines')
  const { stdout } = await run(['jobs', 'enqueue', 'nothing', '--json'], { folder, from: lines })
  const { id } = JSON.parse(stdout)
  expect(await answer(['jobs', 'show', id], { folder })).toMatchObject({ id, input: null })
})

test('what goes wrong in up is reported to whoever follows it over HTTP', async () => {
  const stream = await fetch(`${address}/api/v1/events`)
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  await run(['jobs', 'enqueue', 'broken', '--wait'], { folder })
  let found2 = ''
  while (!found2.includes('event: state')) found2 += (await reader.read()).value ?? ''
  await reader.cancel()
  expect(found2).toContain('"to":"failed"')
})

test('a second up in the same folder is refused and names the address of the first, whatever its port', async () => {
  for (const PORT of ['0', new URL(address).port]) {
    const second = await answer<{ error: { code: string; message: string } }>(['up'], { folder, env: { PORT } })
    expect(second.error.code).toBe('data_in_use')
    expect(second.error.message).toContain(address)
  }
})

test('of several up that begin at once in a new folder one is up, and the others say that it has the folder', async () => {
  const fresh = folderWith()
  const PORT = await freePort()
  const all = [1, 2, 3].map(() => start(['up', '--json'], { folder: fresh, env: { PORT } }))
  const said = await Promise.all(all.map(each => each.said('}\n').then(text => JSON.parse(text))))
  const winner = said.findIndex(each => each.error === undefined)
  const others = said.filter((_, index) => index !== winner)
  expect(others.map(each => each.error?.code)).toEqual(['data_in_use', 'data_in_use'])
  for (const { error } of others) expect(error.message).toContain(said[winner].address)
  all[winner]!.tell('SIGTERM')
  await Promise.all(all.map(each => each.ended))
})

test('up warns of limits that limit nothing', async () => {
  const text = config.replace('limits: { default', 'limits: { defalt')
  const other = folderWith({ 'retoma.config.ts': text })
  const { stderr } = await run(['up'], { folder: other, env: { PORT: new URL(address).port } })
  expect(stderr).toContain(
    'warning: limits.defalt limits nothing here: no job of this config is in that queue, did you mean "default"?\n',
  )
})

test('a taken port is shown with a free one, before any data is made', async () => {
  const other = folderWith()
  const { port } = new URL(address)
  const { code, stderr } = await run(['up'], { folder: other, env: { PORT: port } })
  expect(code).toBe(1)
  expect(stderr).toMatch(new RegExp(`^error port_taken: port ${port} is already taken.*set PORT=\\d+ and start again`))
  expect(existsSync(join(other, '.retoma'))).toBe(false)
})

test('SIGTERM ends up with exit 0 and leaves no process; commands then start the database for the moment', async () => {
  up.tell('SIGTERM')
  const { code, stdout } = await up.ended
  expect(code).toBe(0)
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(processesIn(folder)).toEqual([])

  const { stdout: list } = await run(['jobs', 'list', '--state', 'failed'], { folder })
  expect(list).toMatch(/broken +default +failed/)
  expect(processesIn(folder)).toEqual([])
})

test('Ctrl-C, delivered twice as npm does, ends up once and cleanly', async () => {
  const again = start(['up'], { folder })
  await again.said('Ctrl-C')
  again.tell('SIGINT')
  again.tell('SIGINT')
  const { code, stdout } = await again.ended
  expect(code).toBe(0)
  expect(stdout, 'no system, nothing simulated').not.toContain('simulado')
  expect(stdout).toMatch(/stopped\n$/)
  expect(processesIn(folder)).toEqual([])
})

test('Ctrl-C while up prepares its first data leaves no process', async () => {
  const fresh = folderWith()
  const starting = start(['up'], { folder: fresh, env: { PORT: '0' } })
  await starting.said('preparing the embedded PostgreSQL')
  starting.tell('SIGINT')
  const { code, stdout } = await starting.ended
  expect(code).toBe(0)
  expect(stdout).not.toContain('is up')
  expect(processesIn(fresh)).toEqual([])
})

async function initdbWorks(fresh: string): Promise<void> {
  const made = () => processesIn(join(fresh, '.retoma')).some(each => each.includes('--single'))
  await expect.poll(made, { interval: 5 }).toBe(true)
}

test('Ctrl-C in a terminal while up makes its first data is no fault', async () => {
  const fresh = folderWith()
  const starting = start(['up'], { folder: fresh, env: { PORT: '0' } })
  await initdbWorks(fresh)
  starting.tellAll('SIGINT')
  const { code, stdout, stderr } = await starting.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/stopped\n$/)
  expect(processesIn(fresh)).toEqual([])
})

test.each([[[]], [['--json']]])(
  'waiting %j that is interrupted ends by the signal and has named the job',
  async json => {
    const waiting = start(['jobs', 'enqueue', 'hello', '{"name":"x"}', '--wait', ...json], { folder })
    expect(await waiting.noted('waiting for the end')).toMatch(/job \d+ \(hello\) is in queue default/)
    waiting.tell('SIGINT')
    expect(await waiting.ended).toMatchObject({ code: null, signal: 'SIGINT', stdout: '' })
    expect(processesIn(folder)).toEqual([])
  },
)
