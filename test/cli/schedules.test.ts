/**
 * Schedules over the command line: a process of `up` that is killed and started again, and commands beside the process. The order of the
 * tests matters.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestDatabase } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, type Program, run, start } from './support.ts'

const config = `import { defineConfig, defineJob, defineSchedule, seconds } from 'retoma'
const tidy = defineJob({ kind: 'tidy', queue: 'house', run: async (ctx, input: { at: string }) => input.at })
const input = (occurrence: Date) => ({ at: occurrence.toISOString() })
export default defineConfig({ schedules: [
  defineSchedule({ name: 'nightly', job: tidy, cron: '0 4 * * *', timeZone: 'America/Sao_Paulo', input }),
  defineSchedule({ name: 'often', job: tidy, every: seconds(1), catchUp: 'all', input }),
] })
`

interface Item {
  name: string
  next_at: string
  last_job: string | null
}
interface Job {
  ref: string
  state: string
  result: string
}

let database: TestDatabase
let folder: string
let env: Record<string, string>
let up: Program

beforeAll(async () => {
  database = await migratedDatabase()
  folder = folderWith({ 'retoma.config.ts': config }, 'file')
  env = { DATABASE_URL: database.url, PORT: '0' }
  up = start(['up'], { folder, env })
  await up.said('Ctrl-C')
})

afterAll(async () => {
  up.tell('SIGTERM')
  await up.ended
  await database.drop()
})

const jobs = async () =>
  (await answer<{ items: Job[] }>(['jobs', 'list', '--kind', 'tidy', '--limit', '500'], { folder, env })).items

async function succeeded(atLeast: number): Promise<Job[]> {
  let found: Job[] = []
  const check = async () => {
    found = (await jobs()).filter(job => job.state === 'succeeded')
    return found.length
  }
  await expect.poll(check, { interval: 200 }).toBeGreaterThanOrEqual(atLeast)
  return found
}

test('up names its schedules, fires them and works on their jobs, whose kind only a schedule names', async () => {
  expect(await up.said('schedules:')).toContain('schedules: nightly, often\n')
  const done = await succeeded(2)
  for (const { ref, result } of done) expect(`often@${result.replace('.000Z', 'Z')}`).toBe(ref)
})

test('schedules shows each with its recurrence, its next occurrence and its last job', async () => {
  const { items } = await answer<{ items: Item[] }>(['schedules'], { folder, env })
  expect(items).toMatchObject([
    {
      name: 'nightly',
      kind: 'tidy',
      cron: '0 4 * * *',
      time_zone: 'America/Sao_Paulo',
      catch_up: 'once',
      active: true,
    },
    { name: 'often', kind: 'tidy', every_ms: 1000, catch_up: 'all', active: true, last_job: expect.any(String) },
  ])
  expect(items[0]!.next_at).toMatch(/T07:00:00\.000Z$/)
  const english = await run(['schedules'], { folder, env })
  expect(english.stdout).toMatch(/^schedule +kind +recurrence +next +last +last job/)
  expect(english.stdout).toMatch(/nightly +tidy +0 4 \* \* \* \(America\/Sao_Paulo\)/)
  const portuguese = await run(['schedules'], { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })
  expect(portuguese.stdout).toMatch(/^agendamento +tipo +plano/)
  expect(portuguese.stdout).toMatch(/often +tidy +a cada 1s/)
})

test('schedules run makes the job now, and the occurrences go on', async () => {
  const before = await answer<{ items: Item[] }>(['schedules'], { folder, env })
  const ran = await answer<{ name: string; id: string }>(['schedules', 'run', 'nightly'], { folder, env })
  expect(ran).toEqual({ name: 'nightly', id: expect.any(String), created: true })
  const after = await answer<{ items: Item[] }>(['schedules'], { folder, env })
  expect(after.items[0]).toMatchObject({ next_at: before.items[0]!.next_at, last_job: ran.id })
  const { stdout } = await run(['schedules', 'run', 'nightly'], { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })
  expect(stdout).toMatch(/^nightly criou o job \d+; o plano dele segue como antes\n/)
})

test('schedules run with a held key makes nothing and says so; where no worker takes the job, that too', async () => {
  const held = config
    .replace("queue: 'house'", "queue: 'attic'")
    .replaceAll("'tidy'", "'keyed'")
    .replace("name: 'nightly'", "options: { key: 'one' }, name: 'keyed-nightly'")
    .replace("name: 'often'", "name: 'keyed-often'")
  const other = folderWith({ 'retoma.config.ts': held })
  const first = await run(['schedules', 'run', 'keyed-nightly'], { folder: other, env })
  expect(first.stdout).toMatch(/^keyed-nightly made job \d+/)
  expect(first.stderr).toContain('no worker takes jobs of queue attic at the moment')
  const again = await run(['schedules', 'run', 'keyed-nightly'], { folder: other, env })
  expect(again.stdout).toMatch(/^job \d+ already has the key "one"; nothing was added\n/)
  expect(await answer(['schedules', 'run', 'keyed-nightly'], { folder: other, env })).toMatchObject({ created: false })
})

test('a schedule that should have fired is shown as late, though it counts as kept for a while', async () => {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    insert into retoma.schedule (name, kind, recurrence, catch_up, next_at, seen_at)
    values ('gone', 'tidy', '{"every":1000}', 'once', now() - interval '2 minutes', now() - interval '2 minutes')`)
  const { stdout } = await run(['schedules'], { folder, env })
  await client.query(`delete from retoma.schedule where name = 'gone'`)
  await client.end()
  expect(stdout).toMatch(/gone .* late: whatever kept it may have ended/)
  expect(stdout).not.toMatch(/(nightly|often) .* late/)
})

test('a schedule that is not there is wrong use, and the nearest is named', async () => {
  const { code, stderr } = await run(['schedules', 'run', 'nightli'], { folder, env })
  expect(code).toBe(2)
  expect(stderr).toBe('error unknown_schedule: there is no schedule "nightli" here; did you mean "nightly"?\n')
})

test('killed and started again, up makes every occurrence in between once', async () => {
  up.tell('SIGKILL')
  await up.ended
  const before = (await jobs()).length
  up = start(['up'], { folder, env })
  await up.said('Ctrl-C')
  await succeeded(before)
  const slots = (await jobs()).map(job => job.ref).filter(ref => ref.startsWith('often@'))
  const seconds = slots.map(ref => Date.parse(ref.slice('often@'.length)) / 1000).sort()
  expect(seconds.slice(1).map((second, i) => second - seconds[i]!)).toEqual(slots.slice(1).map(() => 1))
})

test('a schedule that cannot be read ends up with its file and line', async () => {
  const broken = folderWith({ 'retoma.config.ts': config.replace('0 4 * * *', '0 25 * * *') })
  const { code, stderr } = await run(['up'], { folder: broken, env })
  expect(code).toBe(1)
  expect(stderr).toContain(
    'retoma.config.ts:5 cannot be used: the definition of the schedule "nightly" is not usable: cron "0 25 * * *"',
  )
})
