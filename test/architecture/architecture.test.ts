/**
 * Checks every source file against the import arrows and the homes of SQL, time and randomness (rules.ts), and the tree against the
 * rules about folders and names (layout.ts). Small bad examples show that each rule can fail.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples are source code, and some of it has templates.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { brokenLayout } from './layout.ts'
import { brokenRules } from './rules.ts'
import { readSource } from './source.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const dependencies = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)]
const appNames = readdirSync(join(root, 'apps')).filter(name => existsSync(join(root, 'apps', name, 'package.json')))
const apps = Object.fromEntries(
  appNames.map(name => {
    const manifest = JSON.parse(readFileSync(join(root, 'apps', name, 'package.json'), 'utf8'))
    return [name, Object.keys(manifest.dependencies)] as const
  }),
)

const sources = new Map(
  [...filesIn('src'), ...filesIn('apps')].map(path => [path, readFileSync(join(root, path), 'utf8')] as const),
)

function filesIn(folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    // Neither the tests of an application nor its build are part of its source.
    const isOther = folder.startsWith('apps/') && /^(test|dist|\.dist-\w+|node_modules)$/.test(entry.name)
    if (entry.isDirectory()) return isOther ? [] : filesIn(path)
    return path.endsWith('.ts') && !path.endsWith('.test.ts') ? [path] : []
  })
}

test('every source file keeps to the import arrows and to the homes of SQL, time and chance', () => {
  expect(sources.size).toBeGreaterThan(0)
  expect(brokenRules(sources, { dependencies, apps })).toEqual([])
})

test('every statement that stores a failure stores the start of its attempt', () => {
  const inserts = [...sources].flatMap(([path, text]) =>
    [...text.matchAll(/insert into retoma\.failure \(([^)]*)\)/g)].map(([, columns]) => [path, columns!] as const),
  )
  expect(inserts.length).toBeGreaterThan(0)
  expect(inserts.filter(([, columns]) => !columns.includes('started_at'))).toEqual([])
})

/** The name of a system that is a plain word, too: only its package, its folder, its schema and a text with that name alone count. */
const plainWords = ['quotes', 'documents', 'planner']
const nameOf = (app: string) => (plainWords.includes(app) ? `(?<=[/'])${app}(?=['/])|${app}\\.\\w+` : app)

/** The names of the systems and of their services and packages. */
const words = [
  ...appNames.map(nameOf),
  'openrouter',
  'anthropic',
  'serpapi',
  'fipe',
  'pluggy',
  'unpdf',
  'classificacao',
]

test('the engine knows no application: no word, no table and no package of one', () => {
  const named = new RegExp(`(?<![a-z])(${words.join('|')})(?![a-z])`, 'i')
  expect(appNames).toContain('classifier')
  const sql = readdirSync(join(root, 'sql')).map(name => [`sql/${name}`, readFileSync(join(root, 'sql', name), 'utf8')])
  const all = [...[...sources].filter(([path]) => path.startsWith('src/')), ...sql] as [string, string][]
  const found = all.flatMap(([path, text]) => (named.test(text) ? [`${path}: ${named.exec(text)![0]}`] : []))
  expect(found).toEqual([])
  expect(dependencies.filter(name => named.test(name))).toEqual([])
  for (const word of ['the classifier asks', "from '@retoma/quotes'", 'insert into quotes.quote', "queue: 'quotes'"])
    expect(named.test(word), word).toBe(true)
})

test('no two folders import each other, no folder is too large, and no name has two meanings', () => {
  expect(brokenLayout(sources)).toEqual([])
})

test('the command line begins without the engine, the server, maintenance and HTTP: help and wrong use need none of them', () => {
  const reached = new Set<string>()
  const reach = (path: string) => {
    if (reached.has(path)) return
    reached.add(path)
    // One of them holds the source of another program.
    for (const [, from] of (sources.get(path) ?? '').matchAll(/^(?:import|export) (?!type )[^'"]*?from '(\.[^']+)'/gm))
      reach(join(dirname(path), from!))
  }
  reach('src/cli/program.ts')
  expect(reached.size).toBeGreaterThan(100)
  const heavy =
    /^src\/(index\.ts|engine\/create-engine|(worker|execution|claiming|heartbeat|embedded-postgres|http)\/|maintenance\/(?!model\/)|database\/db)/
  expect([...reached].filter(path => heavy.test(path))).toEqual([])
})

test('no file is longer than 600 lines; only the tables of errors and settings may be', () => {
  const tables = ['src/errors/error-table.ts', 'src/settings/settings-table.ts']
  const long = [...sources].filter(([path, text]) => !tables.includes(path) && text.split('\n').length > 600)
  expect(long.map(([path]) => path)).toEqual([])
})

describe('the rules notice', () => {
  const broken = (path: string, text: string) => brokenRules(new Map([[path, text]]), { dependencies: ['pg'] })

  test.each([
    [
      'src/recovery/model/late-attempt-verdict.ts',
      `import { claim } from '../../claiming/sql/claim.ts'`,
      'recovery/model may not import claiming/sql (../../claiming/sql/claim.ts)',
    ],
    [
      'src/recovery/model/late-attempt-verdict.ts',
      `import { loop } from '../../lib/loop.ts'`,
      'recovery/model may not import lib (../../lib/loop.ts)',
    ],
    [
      'src/schedules/model/cron.ts',
      `import { readFile } from 'node:fs'`,
      'schedules/model is pure and may not import node:fs',
    ],
    ['src/lib/values/page.ts', `import { join } from 'node:path'`, 'lib/values is pure and may not import node:path'],
    [
      'src/jobs/model/job.ts',
      `import type { Engine } from '../../engine/engine-api.ts'`,
      'jobs/model may not import engine (../../engine/engine-api.ts)',
    ],
    [
      'src/lib/log.ts',
      `export { job } from '../jobs/model/job.ts'`,
      'lib may not import jobs/model (../jobs/model/job.ts)',
    ],
    [
      'src/database/db.ts',
      `import {\n  type A,\n  b,\n} from '../worker/run.ts'`,
      'database may not import worker (../worker/run.ts)',
    ],
    [
      'src/database/db.ts',
      `import { claim } from '../claiming/sql/claim.ts'`,
      'database may not import claiming/sql (../claiming/sql/claim.ts)',
    ],
    [
      'src/jobs/sql/view.ts',
      `import { registry } from '../kind-registry.ts'`,
      'jobs/sql may not import jobs (../kind-registry.ts)',
    ],
    [
      'src/schedules/schedule.sql.ts',
      `import { fire } from './scheduler.ts'`,
      'schedules/sql may not import schedules (./scheduler.ts)',
    ],
    [
      'src/events/events.ts',
      `import { claim } from '../claiming/sql/claim.ts'`,
      'events may not import claiming/sql (../claiming/sql/claim.ts)',
    ],
    [
      'src/execution/attempt.ts',
      `import { run } from '../isolation/child/entry.ts'`,
      'execution may not import isolation/child (../isolation/child/entry.ts)',
    ],
    [
      'src/worker/run.ts',
      `await import('../engine/create-engine.ts')`,
      'worker may not import engine (../engine/create-engine.ts)',
    ],
    [
      'src/engine/create-engine.ts',
      `import { app } from '../http/app.ts'`,
      'engine may not import http (../http/app.ts)',
    ],
    [
      'src/http/routes/jobs/jobs.ts',
      `import { view } from '../../../jobs/sql/job-view.ts'`,
      'http may not import jobs/sql (../../../jobs/sql/job-view.ts)',
    ],
    ['src/cli/main.ts', `import '../database/migrate.ts'`, 'cli may not import database (../database/migrate.ts)'],
    ['apps/quotes/jobs.ts', `import { x } from 'retoma/testing'`, 'apps may not import testing (retoma/testing)'],
    [
      'apps/quotes/jobs.ts',
      `import { x } from '../../src/jobs/sql/job-view.ts'`,
      'apps may not import jobs/sql (../../src/jobs/sql/job-view.ts)',
    ],
    ['apps/quotes/jobs.ts', `import sharp from 'sharp'`, 'sharp is not among the dependencies of package.json'],
    ['src/worker/run.ts', `import { test } from 'vitest'`, 'vitest is not among the dependencies of package.json'],
    [
      'src/worker/run.ts',
      `import fc from '@fast/check/deep'`,
      '@fast/check is not among the dependencies of package.json',
    ],
    [
      'src/worker/run.ts',
      'db.query(`\n  update job\n  set state = $1`)',
      'SQL outside sql/: update job set state = $1',
    ],
    ['src/http/app.ts', `db.query('select id from job')`, 'SQL outside sql/: select id from job'],
    ['src/jobs/model/job.ts', `const text = 'select id from job'`, 'SQL outside sql/: select id from job'],
    ['src/http/app.ts', `db.query("WITH a AS (select 1) select a")`, 'SQL outside sql/: WITH a AS (select 1) select a'],
    ['apps/quotes/jobs.ts', `db.query('select id from quote')`, 'SQL outside sql/: select id from quote'],
    ['src/engine/create-engine.ts', 'const at = Date.now()', 'Date.now outside lib/'],
    ['src/engine/create-engine.ts', 'const at = new Date()', 'new Date() outside lib/'],
    ['src/engine/create-engine.ts', 'const text = `at ${setTimeout(go, 1)}`', 'setTimeout outside lib/'],
    ['src/lib/values/page.ts', 'const at = Date.now()', 'Date.now outside lib/'],
    [
      'src/jobs/model/backoff.ts',
      'export const jitter = (random = Math.random) => random()',
      'Math.random outside lib/',
    ],
    [
      'apps/quotes/jobs.ts',
      'fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) })',
      'a timeout that only AbortSignal.any refers to',
    ],
    ['src/worker/run.ts', 'let open = 0', 'module state: open'],
    ['src/execution/current-job.ts', 'export let starting: Job | undefined', 'module state: starting'],
    ['src/heartbeat/hook.ts', 'const asked = new Set<Current>()', 'module state: asked'],
    ['src/isolation/error-wire.ts', 'const origins = new WeakMap<Error, number>()', 'module state: origins'],
    ['src/isolation/child/child-runner.ts', 'const inRun = new AsyncLocalStorage<number>()', 'module state: inRun'],
    ['src/jobs/listeners.ts', 'const listeners: Listener[] = []', 'module state: listeners'],
    ['src/helpers/a.ts', '', '"helpers" has no row in the table of test/architecture/rules.ts'],
    ['src/helpers/model/a.ts', '', '"helpers/model" has no row in the table of test/architecture/rules.ts'],
  ])('%s: %s', (path, text, sentence) => {
    expect(broken(path, text)).toEqual([`${path}: ${sentence}`])
  })

  test.each([
    [
      'src/jobs/model/job.ts',
      `import type { Clock } from '../../lib/clock.ts'\nimport { RetomaError } from '../../errors/errors.ts'`,
    ],
    ['src/jobs/model/job.ts', `import { batch } from '../../batches/model/batch.ts'`],
    ['src/worker/run.ts', 'function run() {\n  let open = 0\n  const all = new Set()\n}\nconst most = 2'],
    ['src/jobs/model/state.ts', `const ends: ReadonlySet<string> = new Set(['failed'])`],
    ['src/lib/trace.ts', 'let traced: boolean | undefined'],
    ['src/database/db.ts', `import pg from 'pg'\nconst sql = 'select 1'`],
    ['src/jobs/sql/view.ts', `import { state } from '../model/state.ts'\nconst sql = 'select 1'`],
    ['src/schedules/schedule.sql.ts', `import { run } from '../database/db.ts'\nconst sql = 'select 1'`],
    ['src/schedules/scheduler.ts', `import { fire } from './schedule.sql.ts'`],
    ['src/index.ts', `export type { JobView } from './jobs/sql/job-view.ts'`],
    ['apps/quotes/store/quotes.ts', `import { route } from 'retoma/http'\ndb.query('select id from quote')`],
    ['src/testing/clock.ts', `import { run } from '../worker/run.ts'\nsetTimeout(run, 1)`],
    ['src/cli/init.ts', "const example = `import { test } from 'vitest'\nsetTimeout(test, 1)`"],
    [
      'src/cli/init.ts',
      `// Date.now() and import '../database/db.ts' are words here\nconst quote = /['"\`]/.test(x) // it's one`,
    ],
    [
      'src/worker/run.ts',
      `clock.setTimeout(go)\nconst at = new Date(row.at)\nconst tip = 'select a job, then update it'`,
    ],
  ])('no fault in %s: %s', (path, text) => {
    expect(broken(path, text)).toEqual([])
  })
})

describe('the rules about the tree notice', () => {
  const tree = (files: Record<string, string>) => brokenLayout(new Map(Object.entries(files)))

  test('two folders that import each other, also by a type', () => {
    const files = {
      'src/jobs/erase.ts': `import { follow } from '../batches/cascade.ts'`,
      'src/batches/submit.ts': `import type { Registry } from '../jobs/registry.ts'`,
    }
    expect(tree(files)).toEqual([
      'batches and jobs import each other: src/batches/submit.ts imports src/jobs/registry.ts, src/jobs/erase.ts imports src/batches/cascade.ts',
    ])
  })

  test('three parts that import each other in a circle', () => {
    const files = {
      'src/jobs/sql/a.ts': `import { b } from '../../limits/sql/b.ts'`,
      'src/limits/sql/b.ts': `import { c } from '../../events/sql/c.ts'`,
      'src/events/sql/c.ts': `import { a } from '../../jobs/sql/a.ts'`,
    }
    expect(tree(files)).toEqual(['parts import each other in a circle: jobs/sql → limits/sql → events/sql → jobs/sql'])
  })

  test('a folder with too many files', () => {
    const files = Object.fromEntries(Array.from({ length: 22 }, (_, i) => [`src/jobs/sql/statement-${i}.ts`, '']))
    expect(tree(files)).toEqual(['src/jobs/sql has 22 source files; 21 is the most'])
  })

  test('one name for files of two capabilities', () => {
    expect(tree({ 'src/jobs/view.ts': '', 'src/batches/sql/view.ts': '' })).toEqual([
      'view.ts is the name of several files: src/jobs/view.ts, src/batches/sql/view.ts',
    ])
  })

  test('no fault in layers of one capability, in an index, and in routes and commands', () => {
    const files = {
      'src/jobs/job-actions.ts': `import { cancel } from './sql/job-actions.ts'`,
      'src/jobs/sql/job-actions.ts': `import { state } from '../model/state.ts'`,
      'src/jobs/model/state.ts': '',
      'src/http/index.ts': '',
      'src/testing/index.ts': '',
      'src/worker/worker.ts': '',
      'src/cli/commands/worker.ts': '',
    }
    expect(tree(files)).toEqual([])
  })
})

test('code after a template, a division or a regular expression is still read as code', () => {
  const text = "const a = `x ${b / 2} ${`y`} 'z`; const c = d / e / f; const g = /\\/'/; import { h } from './i.ts'"
  const { code, strings, imports } = readSource(text)
  expect(imports).toEqual([{ from: './i.ts', typeOnly: false }])
  expect(strings).toEqual(['y', "x ${b / 2} ${`y`} 'z", './i.ts'])
  expect(code).toHaveLength(text.length)
})
