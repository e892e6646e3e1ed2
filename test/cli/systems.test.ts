/** The systems of a retoma.config: which systems run, and which settings the config may change. */
import { expect, test, vi } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { loadApps, merged } from '../../src/cli/load-apps.ts'
import { loadConfig } from '../../src/cli/load-config.ts'
import { isRetomaError } from '../../src/errors/errors.ts'
import type { System } from '../../src/http/index.ts'
import { defineBatch, defineJob } from '../../src/index.ts'
import { doorWith } from '../http/support.ts'
import { classifierPackage, folderWith } from './support.ts'

const configured = (text: string) => ({ folder: folderWith({ 'retoma.config.ts': text }), configFile: undefined })
const load = (text: string) => loadApps(configured(text))

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

test('without a config there is no system', async () => {
  const { systems, jobs, routes, simulated } = await loadApps({ folder: folderWith(), configFile: undefined })
  expect({ systems, jobs, routes, simulated }).toEqual({ systems: [], jobs: [], routes: [], simulated: [] })
})

const withClassifier = (more = '') =>
  `import { classifier } from '${classifierPackage}'\nexport default { systems: [classifier()]${more} }`

test('a config that names the classifier runs it, from the package that was built', async () => {
  const { systems, jobs, simulated } = await load(withClassifier(", simulated: ['maps']"))
  expect(systems.map(each => each.name)).toEqual(['classifier'])
  expect(jobs.map(each => each.kind)).toContain('classify-document')
  expect(simulated).toEqual(['openrouter', 'maps'])
})

test('the classifier is given what is set of OpenRouter', async () => {
  const reported = async (given: Record<string, string>) => {
    for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value)
    const { queues, limits } = await load(withClassifier())
    return { size: queues.classifier, limits: limits.classifier }
  }
  expect(await reported({})).toEqual({ size: 20, limits: { concurrency: 20, fair: 'batch' } })
  // Requests per minute are counted where the AI is asked, not at the queue.
  expect(await reported({ OPENROUTER_CONCURRENCY: '7', OPENROUTER_REQUESTS_PER_MINUTE: '90' })).toEqual({
    size: 7,
    limits: { concurrency: 7, fair: 'batch' },
  })
})

test('a setting of a system that cannot be used is named as a setting, not as a fault of the config', async () => {
  vi.stubEnv('OPENROUTER_CONCURRENCY', 'many')
  const error = await load(withClassifier()).catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_setting') && error.in('en')).toBe(
    'OPENROUTER_CONCURRENCY is not usable: it is a whole number from 1 to 1000, not "many"',
  )
})

test.each([
  ['k', false],
  [undefined, true],
])('with the key its executions are not simulated: %j', async (key, simulado) => {
  const system = classifier({ openRouter: { key, model: undefined, baseUrl: 'http://127.0.0.1:9' } })
  expect(system.simulated).toEqual(simulado ? ['openrouter'] : [])
  const { ask } = await doorWith([], { systems: [system], app: { routes: system.routes } })
  const { id: projeto_id } = (await ask('POST', '/projetos', { body: { nome: 'P', categorias: ['A', 'B'] } })).body
  const body = { projeto_id, documentos: [{ codigo: 'a', texto: 'b' }] }
  expect((await ask('POST', '/execucoes', { body })).body).toMatchObject({ total: 1, simulado })
})

test('those of its jobs that need the engine are not run in a child, which has none', async () => {
  expect(classifier().attached!.map(each => each.kind)).toEqual([
    'classify-document',
    'notify-execution',
    'watch-executions',
    'open-execution',
    'tidy-executions',
  ])
})

test.each([
  ['systems: false', 'systems must be a list of systems'],
  ['systems: [{}]', 'systems[0] is not a system: it has no name'],
  ["systems: [{ name: 'a', routes: [], job: [] }]", 'there is no "job" in a config, did you mean "jobs"?'],
  ["systems: [{ name: 'a', jobs: [{}] }]", 'jobs[0] was not made by defineJob'],
  ["systems: [{ name: 'retoma', migrations: new URL('file:///a/') }]", '"retoma" cannot be the name of its schema'],
  ["systems: [{ name: 'a' }, { name: 'a' }]", 'there are two systems named "a"'],
  ['simulated: "maps"', 'simulated must be a list of names'],
  ['sistems: []', 'there is no "sistems" in a config, did you mean "systems"?'],
])('%s is refused', async (text, reported) => {
  const error = await load(`export default { ${text} }`).catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toContain(reported)
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
  [`${job('read')}\nexport default { jobs: [job] }`, /the kind "read" is that of the system reader: .* out of systems/],
  [`${job('a', 'reading')}\nexport default { jobs: [job] }`, /the queue "reading" is .* put the job "a" in another/],
  [
    `${job('a')}\nexport default { batches: [defineBatch({ name: 'shelf', job })] }`,
    /the name "shelf" is that of the system reader/,
  ],
])('a name of a system is refused in a config: %#', async (text, reported) => {
  const config = await loadConfig(configured(text))
  const error = await Promise.resolve()
    .then(() => merged(config, [reading]))
    .catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toMatch(reported)
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
  const { routes, errors, systems } = merged(await loadConfig(configured(seats)), [classifier()])
  expect(Object.keys(errors)).toEqual(expect.arrayContaining(['sold_out', 'execution_state']))
  const { ask } = await doorWith([], { systems, app: { routes } })
  expect(await ask('POST', '/seats')).toMatchObject({
    status: 409,
    body: { error: { code: 'sold_out', message: 'seat 4F is sold' } },
  })
  expect((await ask('GET', '/projetos')).status, "a system's").toBe(200)
})

test('two systems may not use one name either', async () => {
  const other: System = { ...reading, name: 'library' }
  const config = await loadConfig(configured('export default {}'))
  expect(() => merged(config, [reading, { name: 'empty', routes: [] }])).not.toThrow()
  expect(() => merged(config, [reading, other])).toThrow(/the kind "read" is that of the system library/)
})

test.each([
  [
    "a system's",
    `import { classifier } from '${classifierPackage}'\n${seats
      .replace('seat_gone', 'execution_state')
      .replace('{ routes, errors }', '{ routes, errors, systems: [classifier()] }')}`,
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
])('errors or routes of a config that cannot be its own are refused at start: %s', async (_, text, reported) => {
  const error = await load(text).catch(thrown => thrown)
  expect(isRetomaError(error, 'bad_config') && error.in('en')).toContain(reported)
})
