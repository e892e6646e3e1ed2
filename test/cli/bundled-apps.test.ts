/** The systems of Retoma beside a retoma.config: what runs, what it may say of them, and what it may not take from them. */
import { expect, test } from 'vitest'
import { loadApps, merged } from '../../src/cli/bundled-apps.ts'
import { loadConfig } from '../../src/cli/load-config.ts'
import { isRetomaError } from '../../src/errors/errors.ts'
import type { System } from '../../src/http/index.ts'
import { defineBatch, defineJob } from '../../src/index.ts'
import { readSettings } from '../../src/settings/index.ts'
import { doorWith } from '../http/support.ts'
import { folderWith } from './support.ts'

const settings = readSettings({})
const configured = (text: string) => ({ folder: folderWith({ 'retoma.config.ts': text }), configFile: undefined })
const load = (text: string) => loadApps({ ...configured(text), settings })

const read = defineJob({ kind: 'read', queue: 'reading', run: () => 1 })
const reading: System = {
  name: 'reader',
  routes: [],
  batches: [defineBatch({ name: 'shelf', job: read })],
  queues: { reading: 20 },
  limits: { reading: { concurrency: 40 } },
}
const job = (kind: string, queue = 'default') =>
  `import { defineBatch, defineJob } from 'retoma'
   const job = defineJob({ kind: '${kind}', queue: '${queue}', run: () => 1 })`

test('without a config the systems are all there is', async () => {
  const { systems, config } = await loadApps({ folder: folderWith(), configFile: undefined, settings })
  expect(systems.map(each => each.name)).toEqual(['classifier'])
  expect(config).toMatchObject({ file: undefined, jobs: [] })
})

test('the classifier is given what is set of OpenRouter', async () => {
  const told = async (given: Record<string, string>) => {
    const { queues, limits } = await loadApps({
      folder: folderWith(),
      configFile: undefined,
      settings: readSettings(given),
    })
    return { size: queues.classifier, limits: limits.classifier }
  }
  const perGroup = { concurrency: 1 }
  expect(await told({})).toEqual({ size: 20, limits: { concurrency: 20, perGroup } })
  // Requests per minute are counted where the AI is asked, not at the queue.
  expect(await told({ OPENROUTER_CONCURRENCY: '7', OPENROUTER_REQUESTS_PER_MINUTE: '90' })).toEqual({
    size: 7,
    limits: { concurrency: 7, perGroup },
  })
})

test.each([
  [{ OPENROUTER_API_KEY: 'k' }, false],
  [{}, true],
])('with the key its executions are not simulated: %j', async (given, simulado) => {
  const { systems } = await loadApps({ folder: folderWith(), configFile: undefined, settings: readSettings(given) })
  const { jobs = [], batches = [], schedules = [], routes } = systems[0]!
  const { ask } = await doorWith([...jobs], { batches, schedules, app: { routes } })
  const { id: projeto_id } = (await ask('POST', '/projetos', { body: { nome: 'P', categorias: ['A', 'B'] } })).body
  const body = { projeto_id, documentos: [{ codigo: 'a', texto: 'b' }] }
  expect((await ask('POST', '/execucoes', { body })).body).toMatchObject({ total: 1, simulado })
})

test('those of its jobs that need the engine are not run in a child, which has none', async () => {
  const { systems } = await loadApps({ folder: folderWith(), configFile: undefined, settings })
  expect(systems[0]!.attached!.map(each => each.kind)).toEqual([
    'classify-document',
    'open-execution',
    'tidy-executions',
  ])
})

test('`systems: false` turns them off', async () => {
  const { systems, jobs } = await load(`${job('a')}\nexport default { jobs: [job], systems: false }`)
  expect({ systems, kinds: jobs.map(each => each.kind) }).toEqual({ systems: [], kinds: ['a'] })
})

test.each([
  ['systems: "no"', 'systems must be true or false'],
  ['sistems: false', 'there is no "sistems" in a config, did you mean "systems"?'],
])('%s is refused', async (text, told) => {
  const error = await load(`export default { ${text} }`).catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toContain(told)
})

test('what a system brings runs beside what the config does, at the sizes that the config says', async () => {
  const text = `${job('a')}\nexport default { jobs: [job], queues: { default: 3, reading: 5 }, limits: { reading: { concurrency: 6 } } }`
  const all = merged(await loadConfig(configured(text)), [reading])
  expect(all.jobs.map(each => each.kind)).toEqual(['a', 'read'])
  expect(all.batches.map(each => each.name)).toEqual(['shelf'])
  expect(all.queues).toEqual({ default: 3, reading: 5 })
  expect(all.limits).toEqual({ reading: { concurrency: 6 } })
  const usual = merged(await loadConfig(configured(`${job('a')}\nexport default { jobs: [job] }`)), [reading])
  expect(usual.queues).toEqual({ default: 10, reading: 20 })
  expect(usual.limits).toEqual(reading.limits)
})

test.each([
  [`${job('read')}\nexport default { jobs: [job] }`, /the kind "read" is that of the system reader .* systems: false/],
  [`${job('a', 'reading')}\nexport default { jobs: [job] }`, /the queue "reading" is .* put the job "a" in another/],
  [
    `${job('a')}\nexport default { batches: [defineBatch({ name: 'shelf', job })] }`,
    /the name "shelf" is that of the system reader/,
  ],
])('a name of a system is refused in a config: %#', async (text, told) => {
  const config = await loadConfig(configured(text))
  const error = await Promise.resolve()
    .then(() => merged(config, [reading]))
    .catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toMatch(told)
  expect(isRetomaError(error, 'bad_config') && error.in('pt')).toContain('sistema reader')
})

const seats = `
  import { defineErrors, RetomaError } from 'retoma'
  import { route } from 'retoma/http'
  const line = { status: 409, en: 'seat {seat} is sold', pt: 'o assento {seat} já foi vendido' }
  const errors = defineErrors({ sold_out: line, seat_gone: line })
  const routes = [route({
    method: 'post', path: '/seats', name: 'takeSeat', tag: 'seats', summary: 'Takes a seat', role: 'operator',
    errors: [errors.sold_out], run: () => { throw new RetomaError(errors.sold_out, { seat: '4F' }) },
  })]
  export default { routes, errors }`

test('a config brings routes and errors of its own, which answer beside those of the systems', async () => {
  const { routes, errors } = await load(seats)
  expect(Object.keys(errors)).toEqual(expect.arrayContaining(['sold_out', 'execution_state']))
  const { ask } = await doorWith([], { app: { routes } })
  expect(await ask('POST', '/seats')).toMatchObject({
    status: 409,
    body: { error: { code: 'sold_out', message: 'seat 4F is sold' } },
  })
  expect((await ask('GET', '/projetos')).status, "a system's").toBe(200)
})

test.each([
  [
    "a system's",
    seats.replace('seat_gone', 'execution_state'),
    'the error code "execution_state" is that of the system classifier',
  ],
  ["Retoma's", seats.replace('seat_gone', 'not_found'), "that code is Retoma's own; choose another"],
  [
    'a table by hand',
    'export default { errors: { sold_out: { status: 409 } } }',
    'errors must be what defineErrors answers',
  ],
  ['no list', 'export default { routes: {} }', 'routes must be a list of what route of retoma/http answers'],
  ['no route', 'export default { routes: [{}] }', 'routes[0] was not made by route of retoma/http'],
])('errors or routes of a config that cannot be its own are refused at start: %s', async (_, text, told) => {
  const error = await load(text).catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toContain(told)
})
