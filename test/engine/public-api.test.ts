/** Every method of the public API, called with what nobody should call it with: refused with a code, and nothing is changed. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { internalsOf } from '../../src/engine/internals.ts'
import { parameters } from '../../src/engine/method-parameters.ts'
import { createApp, cronRoutes, route } from '../../src/http/index.ts'
import {
  createEngine,
  defineBatch,
  defineErrors,
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  isRetomaError,
  minutes,
  pauseBatch,
  providerStop,
  providerWait,
  seconds,
} from '../../src/index.ts'
import { testEngine, VirtualClock } from '../../src/testing/index.ts'
import { engineOf, engineWith } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

const work = defineJob({ kind: 'work', run: (_, input: unknown) => input })
const other = defineJob({ kind: 'other', run: () => 1 })
const batch = defineBatch({ name: 'numbers', job: work })

type Call = (...given: unknown[]) => unknown

/** What is right where a typo is tried somewhere else. */
const right: Record<string, unknown> = {
  id: '1',
  job: work,
  input: 1,
  inputs: [1],
  items: [1],
  orders: [{ job: work, input: 1 }],
  batch,
  reason: 'why',
  priority: 4,
  queue: 'default',
  schedule: 'nightly',
  guard: 'lost',
  provider: 'ai',
  secret: 'x'.repeat(20),
  kind: 'work',
  route: 'post /x',
  wait: { job: '1' },
  explain: { job: '1' },
  filter: { kind: 'work' },
  changes: { priority: 4 },
  once: { who: 'ana', route: 'post /x', key: 'k', hash: new Uint8Array(1) },
  limits: { concurrency: 1 },
  limit: { bucket: 'b', who: 'ana', limit: 1, per: minutes(1) },
  source: [new Uint8Array(1)],
  ids: ['1'],
  home: { job: '1' },
  events: {},
  query: 'select 1',
  values: [],
  options: {},
}

async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return error
  }
}

type Method = [name: string, call: Call, taken: readonly { name: string; known?: readonly string[] }[]]

const namespaces = [
  'jobs',
  'batches',
  'queues',
  'schedules',
  'guards',
  'providers',
  'workers',
  'tokens',
  'metrics',
  'files',
] as const

function methodsOf(engine: Engine): Method[] {
  const of = (place: string, methods: object, taken: object): Method[] =>
    Object.entries(methods).flatMap(([name, call]) =>
      typeof call !== 'function' || name === 'close'
        ? []
        : [[`${place}${name}`, call as Call, (taken as Record<string, Method[2]>)[name]!]],
    )
  return [
    ...of('', engine, parameters.flat),
    ...namespaces.flatMap(name => of(`${name}.`, engine[name], parameters[name])),
    ...of('internals.', internalsOf(engine), parameters.internals),
  ]
}

test('an engine has the methods of its type and no others', async () => {
  const { engine } = await engineWith(work)
  const flat =
    'enqueue enqueueMany submit job batch wait explain events work runUntilEmpty watch query transaction limit files close'
  expect(Object.keys(engine).sort()).toEqual([...new Set([...flat.split(' '), ...namespaces])].sort())
  const names = Object.fromEntries(namespaces.map(name => [name, Object.keys(engine[name]).sort().join(' ')]))
  expect(names).toEqual({
    jobs: 'cancel cancelMany erase eraseMany fail failures list logs recoverOrphans rerun resume resumeMany retry retryMany skip update',
    batches: 'actions cancel erase failures items list map pause resume retryFailed setPriority',
    queues: 'clear groups list pause resume setLimits',
    schedules: 'list occurrences pause resume run',
    guards: 'list run',
    providers: 'clear list',
    workers: 'list',
    tokens: 'create list revoke',
    metrics: 'findings health history incidents include read stats',
    files: 'keep open put remove share',
  })
})

test('the page about the engine names every method', async () => {
  const { engine } = await engineWith(work)
  const page = readFileSync(new URL('../../docs/engine.md', import.meta.url), 'utf8')
  const lines = new Map(page.split('\n').map(line => [/^\| `engine\.(\w+)` \|/.exec(line)?.[1], line]))
  for (const [name] of methodsOf(engine)) {
    const [space, method] = name.split('.') as [string, string?]
    if (space === 'internals') continue
    expect(method === undefined ? page : lines.get(space), name).toContain(`\`${method ?? space}(`)
  }
})

test('a new method without a line in the table of parameters is noticed', async () => {
  const { engine } = await engineWith(work)
  for (const [name, , taken] of methodsOf(engine)) expect(taken, name).toBeDefined()
})

test('an option with a typo is refused in every filter and option object of every method, with what was meant', async () => {
  const { engine } = await engineOf({ jobs: [work], batches: [batch] })
  await engine.enqueue(work, 1, { delay: minutes(1) })
  let tried = 0
  for (const [name, call, taken] of methodsOf(engine)) {
    for (const [place, { known }] of taken.entries()) {
      if (known === undefined || known.length === 0) continue
      tried++
      const typo = `${known[0]}x`
      const given = taken.map(each => right[each.name] ?? (() => ({})))
      const alike = Object.entries(right[taken[place]!.name] as object).filter(([option]) => known.includes(option))
      given[place] = { ...Object.fromEntries(alike), [typo]: 'x' }
      const error = await outcomeOf(() => call(...given))
      expect(isRetomaError(error, 'bad_option') && error.message, `${name}, parameter ${place}`).toMatch(
        new RegExp(`option ${typo} .*did you mean "`),
      )
      expect(englishIn(error)).toEqual([])
    }
  }
  expect(tried).toBeGreaterThan(35)
  // Nothing was acted on.
  expect((await engine.jobs.list()).items).toMatchObject([{ kind: 'work', state: 'waiting' }])
})

const hostile: unknown[] = [
  undefined, null, 0, -1, Number.NaN, 5n, true, '', '\u0000', '\ud800', 'x'.repeat(100_000), '-1', '1e3', '99999999999999999999',
  [], [null], {}, { a: 1 }, Object.create(null), Symbol('s'), () => {}, new Date(Number.NaN), Promise.resolve(1),
] // biome-ignore format: read as one list

test('whatever a method is called with, it answers, or refuses with a code', async () => {
  const { engine, run } = await engineOf({ jobs: [work, other], batches: [batch] })
  const driven = ['begin', 'tick', 'clean', 'guess', 'keepAdminToken'].map(name => `internals.${name}`)
  const waits = [...driven, 'work', 'watch', 'wait']
  const raw: string[] = []
  for (const [name, call, taken] of methodsOf(engine)) {
    if (waits.includes(name) || taken.length === 0) continue
    for (const [place] of taken.entries()) {
      for (const value of hostile) {
        const given = taken.map(each => right[each.name] ?? (async () => ({ status: 200, body: '{}' }))) as unknown[]
        given[place] = value
        const answer = await outcomeOf(() => call(...given))
        // What PostgreSQL says of a statement of the caller's own stays as it is.
        const ofCaller = name === 'query' && 'severity' in Object(answer)
        if (answer instanceof Error && !isRetomaError(answer) && !ofCaller)
          raw.push(`${name} ${place}: ${String(answer)}`)
      }
    }
  }
  expect(raw).toEqual([])
  await run()
})

test('so are the arguments of wait, work and close', async () => {
  const { engine } = await engineWith(work)
  const any = engine as unknown as Record<string, Call>
  for (const value of [
    undefined,
    null,
    0,
    'x',
    [],
    {},
    { job: 1 },
    { job: '1', batch: '1' },
    { job: null },
    { jobb: '1' },
  ])
    expect(await outcomeOf(() => any.wait!(value)), String(value)).toMatchObject({ code: 'bad_option' })
  for (const value of [
    null,
    0,
    'x',
    [],
    { queue: {} },
    { queues: 1 },
    { queues: { a: 'b' } },
    { grace: 'x' },
    { memory: 'x' },
  ])
    expect(await outcomeOf(() => any.work!(value)), String(value)).toMatchObject({ code: 'bad_option' })
})

test('a filter without a value acts on nothing: it is refused', async () => {
  const { engine } = await engineWith(work, other)
  await engine.enqueueMany(work, [1, 2], { groupKey: 'ana', delay: minutes(1) })
  const any = engine.jobs as unknown as Record<'cancelMany' | 'retryMany' | 'resumeMany', Call>
  const nothing = [
    {},
    { kind: undefined },
    { kind: null },
    { kind: 'work', groupKey: undefined },
    { kind: 'work', groupKey: null },
  ]
  for (const filter of [
    ...nothing,
    { kind: 'work', createdBefore: new Date(Number.NaN) },
    { kind: ['work'] },
    undefined,
    null,
    'work',
  ])
    for (const action of ['cancelMany', 'retryMany', 'resumeMany'] as const)
      expect(await outcomeOf(() => any[action](filter)), JSON.stringify(filter)).toMatchObject({ code: 'bad_option' })
  expect(await outcomeOf(() => any.cancelMany({ kind: 'work', groupkey: 'ana' }))).toMatchObject({
    message: expect.stringContaining('did you mean "groupKey"?'),
  })
  const { id } = await engine.submit(batch, [1])
  expect(await outcomeOf(() => engine.batches.retryFailed(id, { cause: undefined as never }))).toMatchObject({
    code: 'bad_option',
  })
  expect((await engine.jobs.list({ state: 'waiting' })).items).toHaveLength(3)
  expect(await engine.jobs.cancelMany({ kind: 'work', groupKey: 'ana' })).toMatchObject({ changed: 2 })
})

test('the options of an item that are not there at once are refused, not left out', async () => {
  const { engine } = await engineOf({ jobs: [work], batches: [batch] })
  for (const each of [async () => ({ key: 'k' }), () => undefined, () => null, () => 'k', () => [{ key: 'k' }]]) {
    expect(await outcomeOf(() => engine.enqueueMany(work, [1], { each: each as never }))).toMatchObject({
      code: 'bad_option',
    })
    expect(await outcomeOf(() => engine.submit(batch, [1], { each: each as never }))).toMatchObject({
      code: 'bad_option',
    })
  }
  expect(await outcomeOf(() => engine.enqueueMany(work, [1], { each: () => ({ kee: 'k' }) as never }))).toMatchObject({
    code: 'bad_option',
  })
})

const databaseUrl = 'postgres://nobody@127.0.0.1:1/none'
const schema = z.object({})
const guardOf = {
  name: 'g',
  table: 't',
  status: { column: 's', running: 'r' },
  signal: 'u',
  after: minutes(1),
  set: { s: 'x' },
}
const ways: [what: string, make: () => unknown][] = [
  ['createEngine', () => createEngine({ databaseURL: databaseUrl } as never)],
  ['createEngine notify', () => createEngine({ databaseUrl, notify: { url: 'http://x', sekret: 'y' } as never })],
  ['createEngine rateLimits', () => createEngine({ databaseUrl, rateLimits: { url: 'https://x', tokn: 'y' } as never })],
  ['createEngine limits', () => createEngine({ databaseUrl, limits: { q: { concurency: 1 } as never } })],
  ['createEngine retention', () => createEngine({ databaseUrl, retention: { faild: minutes(1) } as never })],
  ['testEngine', () => testEngine({ databaseURL: databaseUrl } as never)],
  ['defineJob', () => defineJob({ kind: 'x', attemps: 3, run: () => 1 } as never)],
  ['defineJob backoff', () => defineJob({ kind: 'x', backoff: { frist: seconds(1) } as never, run: () => 1 })],
  ['defineBatch', () => defineBatch({ name: 'x', job: work, stalAfter: minutes(1) } as never)],
  ['defineBatch stopAfter', () => defineBatch({ name: 'x', job: work, stopAfter: { failure: 1 } as never })],
  ['defineBatch items', () => defineBatch({ name: 'x', job: work, items: { attemps: 1 } as never })],
  ['defineSchedule', () => defineSchedule({ name: 'x', job: other, evry: minutes(1) } as never)],
  ['defineSchedule options', () => defineSchedule({ name: 'x', job: other, every: minutes(1), options: { prioritty: 1 } as never })],
  ['defineGuard', () => defineGuard({ ...guardOf, evry: minutes(1) } as never)],
  ['defineGuard status', () => defineGuard({ ...guardOf, status: { colum: 's', running: 'r' } as never })],
  ['defineErrors', () => defineErrors({ sold: { stats: 409, en: 'x', pt: 'x' } as never })],
  ['providerWait', () => providerWait({ retryAfer: seconds(1) } as never)],
  ['providerStop', () => providerStop({ code: 'x', mesage: 'y' } as never)],
  ['pauseBatch', () => pauseBatch({ code: 'x', mesage: 'y' } as never)],
  ['route', () => route({ method: 'get', path: '/x', name: 'x', tag: 'x', summary: 'x', rol: 'viewer', run: () => 1 } as never)],
  ['cronRoutes', () => cronRoutes({ path: '/x', name: 'x', summary: 'x', answer: schema, runn: () => 1 } as never)],
] // biome-ignore format: a table

test.each(ways)('%s refuses an option with a typo, with what was meant', async (_, make) => {
  const error = await outcomeOf(make)
  expect(isRetomaError(error) && error.code).toMatch(/^bad_(option|definition)$/)
  expect(String((error as Error).message)).toContain('did you mean "')
})

test('so does createApp', async () => {
  const { engine } = await engineWith(work)
  expect(() => createApp(engine, { cronSecrt: 'x' } as never)).toThrow('did you mean "cronSecret"')
  expect(() => createApp(undefined as never)).toThrow('bad_option')
  expect(() => createApp({} as never)).toThrow('bad_option')
})

test('and so do the methods of the context of a handler', async () => {
  const refused: unknown[] = []
  const tries = defineJob({
    kind: 'tries',
    async run(ctx) {
      const ways: (() => Promise<unknown>)[] = [
        () => ctx.step('a', () => 1, { attemps: 2 } as never),
        () => ctx.step('b', () => 1, { backoff: { frist: 1 } as never }),
        () => ctx.each('c', [1], () => 1, { concurency: 2 } as never),
        () => ctx.checkpoint('d', 1, { progres: { done: 1 } } as never),
        () => ctx.transaction('e', () => 1, { maxByte: 1 } as never),
        () => ctx.isolated('f', new URL('file:///x.js'), 1, { memry: 1 } as never),
      ]
      for (const way of ways) refused.push(await outcomeOf(way))
    },
  })
  const { engine, run } = await engineWith(tries)
  await engine.enqueue(tries, undefined)
  await run()
  expect(refused).toHaveLength(6)
  for (const error of refused)
    expect(error).toMatchObject({ code: 'bad_option', message: expect.stringContaining('did you mean') })
})

test('what no engine can be made with is refused with a code', async () => {
  const wrong = [
    null,
    5,
    { databaseUrl: 5 },
    { databaseUrl: '' },
    { databaseUrl: '  ' },
    { databaseUrl: 'localhost' },
    { databaseUrl: 'http://x' },
  ]
  const more = [
    { jobs: 5 },
    { jobs: [{}] },
    { jobs: [null] },
    { batches: [{}] },
    { schedules: [null] },
    { guards: [1] },
    { connections: 0 },
    { connections: 'x' },
  ]
  const rest = [
    { log: {} },
    { log: null },
    { clock: 1 },
    { migrate: 1 },
    { notify: 5 },
    { notify: { url: 'x' } },
    { rateLimits: 5 },
    { limits: 5 },
    { retention: 'x' },
  ]
  for (const options of [...wrong, ...[...more, ...rest].map(each => ({ databaseUrl, ...each }))]) {
    const error = await outcomeOf(() => createEngine(options as never))
    expect(isRetomaError(error) && error.code, JSON.stringify(options)).toMatch(/^bad_(option|definition)$/)
  }
  expect(() => new VirtualClock(new Date('never'))).toThrow('bad_option')
})
