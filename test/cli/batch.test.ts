/** Batches as people use them on the command line: every action as it is typed, against a real database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stallBatch } from '../../src/batches/sql/batch-actions.ts'
import { fullPage } from '../../src/cli/commands/batch/batch-items.ts'
import { type Db, openDb } from '../../src/database/db.ts'
import { defineBatch, defineJob, doNotRetry, type JobView, milliseconds } from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { type TestDatabase, type TestEngine, testEngine } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, run, start } from './support.ts'

interface Item {
  n: number
  bad?: string
}

const classify = defineJob<Item>({
  kind: 'classify',
  queue: 'classifier',
  run: (_, { n, bad }) => {
    if (bad) throw doNotRetry(bad)
    return n
  },
})
const classification = defineBatch({ name: 'classification', job: classify, maxResumes: 2 })

let database: TestDatabase
let here: TestEngine
let db: Db
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  database = await migratedDatabase()
  here = await testEngine({ databaseUrl: database.url, batches: [classification], start: new Date() })
  db = openDb({ url: database.url, log: silentLog, connections: 1 })
  folder = folderWith({}, 'file')
  env = { DATABASE_URL: database.url }
})

afterAll(async () => {
  await here.close()
  await db.close()
  await database.drop()
})

const retoma = (...args: string[]) => run(args, { folder, env })
const emPortugues = (...args: string[]) => run(args, { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })
const json = <T = Record<string, unknown>>(...args: string[]) => answer<T>(args, { folder, env })

/** A line on stdout and exit 0. */
async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await retoma(...args)
  expect({ code, args, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, args, stderr: '' })
  return stdout.trimEnd()
}

async function submitted(items: Item[]): Promise<string> {
  return (await here.engine.submit(classification, items, { ref: ({ n }) => `A-${n}` })).id
}

const good = (count: number): Item[] => Array.from({ length: count }, (_, n) => ({ n }))

/** Two items fail for one cause, one item for another cause, three items succeed. */
const mixed = (): Item[] => [
  ...good(3),
  { n: 3, bad: 'provider answered 500 for "A-3"' },
  { n: 4, bad: 'provider answered 503 for "A-4"' },
  { n: 5, bad: 'no such document' },
]

/** An action of the command line counts from the database's instant: the test's clock goes there first. */
async function work(): Promise<void> {
  await here.clock.advance(milliseconds(Math.max(systemClock.now().getTime() - here.clock.now().getTime(), 0) + 1))
  await here.run()
}

async function finished(items: Item[]): Promise<string> {
  const id = await submitted(items)
  await work()
  return id
}

test('without a batch there is nothing to list', async () => {
  expect(await said('batch', 'list')).toBe('no batches')
  expect(await json('batch', 'list')).toEqual({ items: [], next: null })
})

describe('a batch that is over with failures', () => {
  let id: string
  let causes: { cause: string; count: number; refs: string[] }[]
  beforeAll(async () => {
    id = await finished(mixed())
  })

  test('is shown with its state, bar, counts, causes and the next action to run', async () => {
    const shown = await said('batch', 'show', id)
    expect(shown).toContain(`batch      ${id} (classification)\n`)
    expect(shown).toContain('state      over: every item has ended, 3 of them failed\n')
    expect(shown).toContain(`progress   [${'█'.repeat(30)}]  100.0 %  6 of 6\n`)
    expect(shown).toContain('items      3 succeeded, 3 failed\n')
    expect(shown).toMatch(/last item {2}A-\d, (now|\d+ sec\. ago)\n/)
    expect(shown).toContain('resumes    0 of 2\n')
    expect(shown).toMatch(/ {6}2 {2}[0-9a-f]{12} {2}provider answered 503 for "A-4"\n/)
    expect(shown).toContain(`  retoma batch retry-failed ${id}  runs the failed ones again`)
    const { stdout } = await emPortugues('batch', 'show', id)
    expect(stdout).toContain('estado       terminado: todos os itens chegaram ao fim, 3 deles com erro\n')
    expect(stdout).toContain(`  retoma batch retry-failed ${id}  roda de novo os que deram erro`)
  })

  test('is a document with --json', async () => {
    const shown = await json<{ causes: typeof causes }>('batch', 'show', id)
    causes = shown.causes
    expect(shown).toEqual({
      id,
      name: 'classification',
      key: null,
      kind: 'classify',
      queue: 'classifier',
      state: 'completed_with_failures',
      reason: null,
      priority: 4,
      total: 6,
      waiting: 0,
      running: 0,
      stalled: 0,
      succeeded: 3,
      failed: 3,
      skipped: 0,
      cancelled: 0,
      percent: 100,
      rate: null,
      eta_seconds: null,
      progress_at: expect.stringMatching(/Z$/),
      last_ref: expect.stringMatching(/^A-/),
      resumes: 0,
      max_resumes: 2,
      items_received: 6,
      following: false,
      complete_job: null,
      cost: [],
      created_at: expect.stringMatching(/Z$/),
      submitted_at: expect.stringMatching(/Z$/),
      finished_at: expect.stringMatching(/Z$/),
      causes: [
        {
          cause: expect.stringMatching(/^[0-9a-f]{12}$/),
          count: 2,
          more: false,
          code: null,
          message: 'provider answered 503 for "A-4"',
          refs: ['A-3', 'A-4'],
          last_at: expect.stringMatching(/Z$/),
        },
        expect.objectContaining({ count: 1, message: 'no such document', refs: ['A-5'] }),
      ],
    })
  })

  test('is in the list, which is filtered by name and state', async () => {
    expect(await said('batch', 'list')).toMatch(
      new RegExp(
        `^id +batch +state +done +items +failed +created\\n${id} +classification +completed_with_failures +100.0 % +6 +3 `,
      ),
    )
    expect(await said('batch', 'list', '--state', 'paused')).toBe('no batches with that filter')
    expect(await json('batch', 'list', '--name', 'other')).toEqual({ items: [], next: null })
    expect(await json('batch', 'list', '--state', 'completed_with_failures')).toMatchObject({
      items: [{ id, failed: 3 }],
      next: null,
    })
  })

  test('has its failures by cause, each with an example, refs and how to run those again', async () => {
    const [first, second] = causes
    const { stdout } = await retoma('batch', 'failures', id)
    expect(stdout.replaceAll(/last .*/g, 'last')).toBe(`2 items, last
  provider answered 503 for "A-4"
  such as A-3, A-4
  run them again: retoma batch retry-failed ${id} --cause ${first!.cause}

1 item, last
  no such document
  such as A-5
  run them again: retoma batch retry-failed ${id} --cause ${second!.cause}
`)
    expect(await json('batch', 'failures', id)).toEqual({ items: causes, next: null })
    expect((await emPortugues('batch', 'failures', id)).stdout).toMatch(/^2 itens, o último /)
  })

  test('has items, by state or cause, a page at a time', async () => {
    expect(await said('batch', 'items', id)).toMatch(
      /^id +ref +state +attempts +error\n\d+ +A-0 +succeeded +1\n(.*\n){2}\d+ +A-3 +failed +1 {2}provider answered 500/,
    )
    const refs = async (...args: string[]) =>
      (await json<{ items: { ref: string }[] }>('batch', 'items', id, ...args)).items.map(item => item.ref)
    expect(await refs('--state', 'succeeded')).toEqual(['A-0', 'A-1', 'A-2'])
    expect(await refs('--cause', causes[1]!.cause)).toEqual(['A-5'])
    expect(await said('batch', 'items', id, '--state', 'skipped')).toBe('no items with that filter')
    const page = await said('batch', 'items', id, '--state', 'failed', '--limit', '2')
    const [, more] = /there are more: retoma (.*)$/.exec(page) ?? []
    expect(more).toContain(`batch items ${id} --state failed --limit 2 --after `)
    expect(await said(...more!.split(' '))).toMatch(/^id .*\n\d+ +A-\d +failed +1 .*$/)
    expect(await said('jobs', 'list', '--batch', id, '--state', 'succeeded')).toMatch(/A-0\n.*A-1\n.*A-2$/)
  })

  test('has those of one cause run again, then the others, then none', async () => {
    const [first] = causes
    expect(await said('batch', 'retry-failed', id, '--cause', first!.cause)).toBe(
      `batch ${id}: 2 items that failed wait to run again`,
    )
    const { stdout, stderr } = await emPortugues('batch', 'retry-failed', id, '--cause', first!.cause)
    expect(stdout).toBe(`o lote ${id} não tem itens com erro da causa "${first!.cause}"; nada a fazer\n`)
    expect(stderr).toContain('nenhum worker pega jobs da fila classifier')
    expect(await json('batch', 'retry-failed', id)).toEqual({
      id,
      state: 'running',
      changed: true,
      retried: 1,
      conflicts: 0,
    })
    expect(await said('batch', 'retry-failed', id)).toBe(`batch ${id} has no failed items; nothing to do`)
    await work()
    expect(await json('batch', 'show', id)).toMatchObject({ state: 'completed_with_failures', failed: 3 })
  })
})

test('pause, resume and priority say what happened, also for a repeated call', async () => {
  const id = await submitted(good(3))
  expect(await said('batch', 'show', id)).toContain('state     waiting: nothing of it has started yet\n')
  expect(await said('batch', 'pause', id)).toBe(
    `batch ${id} is paused: nothing more of it starts, what runs goes on to its end`,
  )
  expect(await said('batch', 'pause', id)).toBe(`batch ${id} was paused already`)
  const shown = await said('batch', 'show', id)
  expect(shown).toContain('state     paused by a person: nothing more of it starts\n')
  expect(shown).toContain(`next:\n  retoma batch resume ${id}  goes on`)
  expect(await said('batch', 'priority', id, '1')).toBe(`batch ${id} has priority 1; 3 items that wait moved`)
  expect(await said('batch', 'priority', id, '1')).toBe(`batch ${id} had priority 1 already`)
  expect(await json('batch', 'priority', id, '2')).toEqual({ id, state: 'paused', changed: true, moved: 3 })
  expect(await said('batch', 'resume', id)).toBe(`batch ${id} goes on with 3 items`)
  expect(await json('batch', 'resume', id)).toEqual({ id, state: 'waiting', changed: false, resumed: 0 })
  expect((await emPortugues('batch', 'resume', id)).stdout).toBe(
    `o lote ${id} está em waiting, nem pausado nem travado; nada a retomar\n`,
  )
  await work()
})

test('resume goes on with a stalled batch and counts it; otherwise there is nothing to resume', async () => {
  const id = await submitted(good(4))
  expect(await said('batch', 'resume', id)).toBe(
    `batch ${id} is waiting, neither paused nor stalled; nothing to resume`,
  )
  await stallBatch(db, id, { code: 'no_progress' }, null)
  const shown = await said('batch', 'show', id)
  expect(shown).toContain('state     stalled: no item of it has ended for too long; it waits for a person\n')
  expect(shown).toContain(`  retoma batch resume ${id}  goes on`)
  expect(await said('batch', 'resume', id)).toBe(`batch ${id} goes on with 4 items; that was resume 1 of 2`)
  await stallBatch(db, id, { code: 'no_progress' }, null)
  expect(await json('batch', 'resume', id)).toEqual({ id, state: 'waiting', changed: true, resumed: 4 })
  await stallBatch(db, id, { code: 'no_progress' }, null)
  const spent = await emPortugues('batch', 'resume', id)
  expect(spent).toMatchObject({
    code: 1,
    stderr: `erro resumes_spent: o lote ${id} falhou depois de 2 retomadas; reprocesse os itens com erro\n`,
  })
  expect(await said('batch', 'show', id)).toContain('failed: it stalled again after 2 resumes')
  await here.tick()
  expect(await said('batch', 'retry-failed', id)).toBe(`batch ${id}: 4 items that failed wait to run again`)
  await work()
})

test('retry-failed says what it had to leave because another job has the key', async () => {
  const keyed = (key: string) => ({ key, keyUntil: 'final' as const })
  const items = [1, 2].map(n => ({ n, bad: 'no' }))
  const { id } = await here.engine.submit(classification, items, { each: ({ n }) => keyed(`k${n}`) })
  await work()
  await here.engine.enqueue(classify, { n: 1 }, keyed('k1'))
  expect(await said('batch', 'retry-failed', id)).toBe(
    `batch ${id}: 1 item that failed waits to run again; 1 is left as it is: another job has its key`,
  )
  const { stdout } = await emPortugues('batch', 'retry-failed', id)
  expect(stdout).toBe(`lote ${id}: nada roda de novo; outro job tem a chave do item com erro\n`)
  await work()
})

test('cancel ends a batch for good', async () => {
  const id = await submitted(good(2))
  expect(await said('batch', 'cancel', id)).toBe(
    `batch ${id} is cancelled: what of it has not ended does not run any more`,
  )
  expect(await json('batch', 'cancel', id)).toEqual({ id, state: 'cancelled', changed: false })
  expect((await emPortugues('batch', 'cancel', id)).stdout).toBe(`o lote ${id} já estava cancelado\n`)
  const refused = await json('batch', 'retry-failed', id)
  expect(refused).toMatchObject({ error: { code: 'batch_cancelled' } })
  expect(await json('batch', 'show', id)).toMatchObject({ state: 'cancelled', cancelled: 2, percent: 100, causes: [] })
})

test('skip takes items of batches, each by itself', async () => {
  const id = await submitted(good(2))
  const { items } = await here.engine.batches.items(id)
  const [one, two] = items.map(item => item.id)
  const alone = (await here.engine.enqueue(classify, { n: 9 })).id
  expect(await said('batch', 'skip', one!, '--reason', 'not ours')).toBe(`item ${one} is skipped`)
  expect(await said('batch', 'skip', one!)).toBe(`item ${one} was skipped already`)
  expect((await here.engine.job(one!))?.error?.message).toBe('not ours')
  const { code, stdout, stderr } = await retoma('batch', 'skip', id, alone, two!)
  expect({ code, stdout }).toEqual({ code: 1, stdout: `item ${two} is skipped\n` })
  expect(stderr).toBe(
    `error wrong_use: ${id} is a batch; skip takes items of it: retoma batch items ${id} lists them\n` +
      `error not_found: there is no item of a batch "${alone}"\n`,
  )
  expect((await here.engine.job(alone))?.state).toBe('waiting')
  expect(await json('batch', 'skip', two!)).toEqual({
    items: [{ id: two, state: 'skipped', changed: false }],
    next: null,
  })
  await work()
  expect(await json('batch', 'show', id)).toMatchObject({ state: 'succeeded', skipped: 2 })
})

test('the id of a job is no batch, and the job is left alone', async () => {
  const { id } = await here.engine.enqueue(classify, { n: 1 })
  for (const actionName of ['show', 'failures', 'resume', 'cancel'])
    expect(await retoma('batch', actionName, id)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error not_found: there is no batch "${id}"\n`,
    })
  expect((await here.engine.job(id))?.state).toBe('waiting')
  await work()
})

test('a batch without items is over, and says so', async () => {
  const shown = await said('batch', 'show', await submitted([]))
  expect(shown).toContain('state     over: it had no items\n')
  expect(shown).toContain('items     none\n')
  expect(shown).not.toContain('progress')
})

test('status has a table of the batches that are not over, and none when all are', async () => {
  expect(await said('status')).not.toContain('classification')
  expect(await json('status')).toMatchObject({ batches: [] })
  const id = await submitted(good(2))
  expect(await said('status')).toMatch(new RegExp(`\\n\\nid +batch +state .*\\n${id} +classification +waiting +0.0 % `))
  expect(await json('status')).toMatchObject({ batches: [{ id, state: 'waiting', total: 2 }] })
  await work()
})

test('a page of items is full though the engine reads a large batch by and by', async () => {
  const job = { id: '1' } as JobView
  const asked: unknown[] = []
  const pages = [
    { items: [], next: '20' },
    { items: [job], next: '40' },
    { items: [job, job], next: '60' },
  ]
  const ask = async (page: unknown) => {
    asked.push(page)
    return pages[asked.length - 1]!
  }
  const page = await fullPage(ask, { limit: 3 }, new AbortController().signal)
  expect(page).toEqual({ items: [job, job, job], next: '60' })
  expect(asked).toEqual([{ limit: 3 }, { limit: 3, after: '20' }, { limit: 2, after: '40' }])
})

test('a million items and the longest names fit into 80 columns, in both languages', async () => {
  await db.run({ name: '', text: million }, [])
  const screens: string[] = []
  for (const args of [['batch', 'list'], ['batch', 'show', '899999999'], ['status']])
    for (const ask of [retoma, emPortugues]) screens.push((await ask(...args)).stdout)
  await db.run({ name: '', text: `delete from retoma.batch where id = 899999999` }, [])
  expect(screens[2]).toContain('81.7 %  817,789 of 1,000,000')
  expect(screens[3]).toContain('81,7 %  817.789 de 1.000.000')
  for (const screen of screens) {
    expect(screen).toContain('899999999')
    // The name of a batch may be longer than a line; the line is then its own.
    const lines = screen.split('\n').filter(line => !/^\s*\(n{90,}\)$/.test(line))
    for (const line of lines) expect([...line].length, line).toBeLessThanOrEqual(80)
  }
})

const million = `
  with made as (
    insert into retoma.batch (id, name, kind, queue, policy, state, priority, items_received, total, created_at, submitted_at, throughput_at, throughput_done)
    values (899999999, repeat('n', 100), 'classify', 'classifier', '{"maxResumes":3}', 'running', 4, 1000000, 1000000,
      now() - interval '3 hours', now(), array[now() - interval '40 seconds'], array[812000])
  )
  insert into retoma.batch_count (batch_id, shard, succeeded, failed, skipped, cancelled, stalled, progress_at, last_ref)
  values (899999999, 0, 800000, 13456, 4321, 12, 3, now() - interval '12 seconds', repeat('r', 500))`

test.each<[string[], string]>([
  [['batch', 'shwo', '1'], 'there is no command "shwo", did you mean "show"?'],
  [['batch', 'zzzzzz'], 'there is no command "zzzzzz"; retoma batch --help lists them'],
  [['batch', 'retry-faild', '1'], 'there is no command "retry-faild", did you mean "retry-failed"?'],
  [['batch', 'unpause', '1'], 'there is no command "unpause", did you mean "resume"?'],
  [['batch', 'show', '1', '--wach'], 'there is no option --wach, did you mean "--watch"?'],
  [['batch', 'list', '--state', 'pausd'], 'there is no state "pausd", did you mean "paused"?'],
  [['batch', 'show'], 'the argument ID is missing'],
  [['batch', 'pause', '1', '2'], 'too many arguments for pause; text with spaces needs quotes around it'],
  [['batch', 'priority', '1', '10'], 'N is a whole number from 0 to 9, not "10"'],
  [['batch', 'priority', '1'], 'the argument N is missing'],
  [
    ['batch', 'retry-failed', '1', '--cause', 'X!'],
    '--cause is one that `retoma batch failures` names, such as 42080bc7b436, not "X!"',
  ],
  [
    ['batch', 'items', '1', '--cause', 'abc', '--state', 'waiting'],
    '--cause is for failed items; leave --state out, or say --state failed',
  ],
  [
    ['jobs', 'list', '--batch', '1', '--kind', 'a'],
    '--batch goes with --state alone; all items of a batch are of one kind and queue',
  ],
])('retoma %j is wrong use', async (args, sentence) => {
  expect(await retoma(...args)).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: `error wrong_use: ${sentence}\n`,
  })
})

test('a worker takes the items of a batch whose kind only the batch names, and what runs at its end', async () => {
  const config = `import { defineBatch, defineConfig, defineJob } from 'retoma'
const work = defineJob({ kind: 'work', queue: 'works', run: async () => 1 })
const report = defineJob({ kind: 'report', queue: 'reports', run: async () => 1 })
export default defineConfig({ batches: [defineBatch({ name: 'works', job: work, onComplete: report })] })
`
  const at = folderWith({ 'retoma.config.ts': config })
  const up = start(['up'], { folder: at, env: { ...env, PORT: '0' } })
  try {
    const words = await up.said('Ctrl-C')
    expect(words).toContain('jobs: work, report\n')
    expect(words).toContain('batches: works\n')
    const work = defineJob<number>({ kind: 'work', queue: 'works', run: () => 1 })
    const report = defineJob({ kind: 'report', queue: 'reports', run: () => 1 })
    const works = defineBatch({ name: 'works', job: work, onComplete: report })
    const { id } = await here.engine.submit(works, [1, 2, 3])
    const { code, stdout } = await retoma('batch', 'show', id, '--watch')
    expect(code).toBe(0)
    expect(stdout).toMatch(/state +over: every item has ended\n/)
    expect(stdout).toMatch(/at its end +job \d+\n/)
  } finally {
    up.tell('SIGTERM')
    await up.ended
  }
})
