/**
 * The import arrows and the homes of SQL, time and chance (rules.ts), held over every source file; then the same rules on
 * small bad examples, to show that they can fail.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the examples are source code, and some of it has templates.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { brokenRules } from './rules.ts'
import { readSource } from './source.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const dependencies = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)]

const sources = new Map(
  [...filesIn('src'), ...filesIn('apps')].map(path => [path, readFileSync(join(root, path), 'utf8')] as const),
)

function filesIn(folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    // What an application's tests share is no part of it.
    if (entry.isDirectory()) return folder.startsWith('apps/') && entry.name === 'test' ? [] : filesIn(path)
    return path.endsWith('.ts') && !path.endsWith('.test.ts') ? [path] : []
  })
}

test('every source file keeps to the import arrows and to the homes of SQL, time and chance', () => {
  expect(sources.size).toBeGreaterThan(0)
  expect(brokenRules(sources, { dependencies })).toEqual([])
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
  const heavy = /^src\/(engine\.ts|index\.ts|(worker|postgres|maintenance|http)\/|store\/db)/
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
      'src/recovery/model/verdict.ts',
      `import { claim } from '../store/claim.ts'`,
      'core may not import store (../store/claim.ts)',
    ],
    ['src/core/cron.ts', `import { readFile } from 'node:fs'`, 'core is pure and may not import node:fs'],
    [
      'src/jobs/model/job.ts',
      `import type { Engine } from '../engine.ts'`,
      'core may not import engine (../engine.ts)',
    ],
    ['src/lib/logging/log.ts', `export { job } from '../core/job.ts'`, 'lib may not import core (../core/job.ts)'],
    [
      'src/database/db.ts',
      `import {\n  type A,\n  b,\n} from '../worker/run.ts'`,
      'store may not import worker (../worker/run.ts)',
    ],
    ['src/worker/run.ts', `await import('../engine.ts')`, 'worker may not import engine (../engine.ts)'],
    [
      'src/http/routes/jobs.ts',
      `import { view } from '../../store/view.ts'`,
      'http may not import store (../../store/view.ts)',
    ],
    ['src/cli/main.ts', `import '../store/migrate.ts'`, 'cli may not import store (../store/migrate.ts)'],
    ['apps/quotes/jobs.ts', `import { x } from 'retoma/testing'`, 'apps may not import testing (retoma/testing)'],
    [
      'apps/quotes/jobs.ts',
      `import { x } from '../../src/jobs/sql/job-view.ts'`,
      'apps may not import store (../../src/jobs/sql/job-view.ts)',
    ],
    ['src/worker/run.ts', `import { test } from 'vitest'`, 'vitest is not among the dependencies of package.json'],
    [
      'src/worker/run.ts',
      `import fc from '@fast/check/deep'`,
      '@fast/check is not among the dependencies of package.json',
    ],
    [
      'src/worker/run.ts',
      'db.query(`\n  update job\n  set state = $1`)',
      'SQL outside store/: update job set state = $1',
    ],
    ['src/http/app.ts', `db.query('select id from job')`, 'SQL outside store/: select id from job'],
    [
      'src/http/app.ts',
      `db.query("WITH a AS (select 1) select a")`,
      'SQL outside store/: WITH a AS (select 1) select a',
    ],
    ['apps/quotes/jobs.ts', `db.query('select id from quote')`, 'SQL outside store/: select id from quote'],
    ['src/engine/create-engine.ts', 'const at = Date.now()', 'Date.now outside lib/'],
    ['src/engine/create-engine.ts', 'const at = new Date()', 'new Date() outside lib/'],
    ['src/engine/create-engine.ts', 'const text = `at ${setTimeout(go, 1)}`', 'setTimeout outside lib/'],
    [
      'src/jobs/model/backoff.ts',
      'export const jitter = (random = Math.random) => random()',
      'Math.random outside lib/',
    ],
    ['src/helpers/a.ts', '', '"helpers" has no row in the table of test/architecture/rules.ts'],
  ])('%s: %s', (path, text, sentence) => {
    expect(broken(path, text)).toEqual([`${path}: ${sentence}`])
  })

  test.each([
    [
      'src/jobs/model/job.ts',
      `import type { Clock } from '../lib/clock.ts'\nimport { RetomaError } from '../errors.ts'`,
    ],
    ['src/database/db.ts', `import pg from 'pg'\nconst sql = 'select 1'\nimport { job } from '../core/job.ts'`],
    ['apps/quotes/store/quotes.ts', `import { route } from 'retoma/http'\ndb.query('select id from quote')`],
    ['src/testing/clock.ts', `import { run } from '../worker/run.ts'\nsetTimeout(run, 1)`],
    ['src/cli/init.ts', "const example = `import { test } from 'vitest'\nsetTimeout(test, 1)`"],
    [
      'src/cli/init.ts',
      `// Date.now() and import '../store/db.ts' are words here\nconst quote = /['"\`]/.test(x) // it's one`,
    ],
    [
      'src/worker/run.ts',
      `clock.setTimeout(go)\nconst at = new Date(row.at)\nconst tip = 'select a job, then update it'`,
    ],
  ])('no fault in %s: %s', (path, text) => {
    expect(broken(path, text)).toEqual([])
  })
})

test('code after a template, a division or a regular expression is still read as code', () => {
  const text = "const a = `x ${b / 2} ${`y`} 'z`; const c = d / e / f; const g = /\\/'/; import { h } from './i.ts'"
  const { code, strings, imports } = readSource(text)
  expect(imports).toEqual([{ from: './i.ts', typeOnly: false }])
  expect(strings).toEqual(['y', "x ${b / 2} ${`y`} 'z", './i.ts'])
  expect(code).toHaveLength(text.length)
})
