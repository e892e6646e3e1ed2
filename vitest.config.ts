import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

/** Seconds of each file that takes 2 s or more, as `npm test -- --durations` measured them. */
const durations: Record<string, number> = JSON.parse(
  readFileSync(new URL('test/support/durations.json', import.meta.url), 'utf8'),
)

/**
 * Files that prove the package and the examples: they install, pack, build or start what only they need. `npm run test:packages` runs
 * them.
 */
const packages = [
  'examples/**/*.test.ts',
  'test/package/**/*.test.ts',
  'test/database/oldest-postgres.sql.test.ts',
  'test/database/too-old-postgres.sql.test.ts',
]

/**
 * Files of the applications that kill processes at every step or read hostile files, and files about the user and the installation of the
 * embedded PostgreSQL, which make a server for each test: minutes of CPU in sum. `npm run test:packages` runs them.
 */
const proofs = [
  'apps/*/test/**/{kill,hostile,extract}.test.ts',
  'test/embedded-postgres/{data-dir,path-ownership}.test.ts',
]

/**
 * Files that share a process, one after the other: pure ones, and those that do nothing to their process but ask the database and
 * the app in it. Our own modules are evaluated anew for each; packages are not, nor is there another process to start, which
 * together is half a second of a core for each file.
 */
const sharing = [
  'src/**/*.test.ts',
  'test/**/*.sql.test.ts',
  // node.test.ts looks at globals that a package may have changed.
  'test/http/**/!(node).test.ts',
  'test/{auth,batches,claiming,enqueue,erasure,events,explain,files,guards,jobs,limits,maintenance,metrics}/**/*.test.ts',
  'test/{providers,recovery,schedules,simulation,worker}/**/*.test.ts',
  // trace.test.ts registers an SDK for the whole process.
  'test/execution/**/!(trace).test.ts',
  // curl.test.ts and which-database.test.ts start the program in folders that hooks of test/cli/support.ts remove.
  'test/docs/**/!(curl).test.ts',
  'test/incidents/**/*.test.ts',
  // invalid-options.test.ts changes the environment.
  'test/engine/**/!(invalid-options|which-database).test.ts',
  // Files in the folder test of an application kill processes, count children or change the environment.
  // pdf-page has another version of a package that the PDF reader of the classifier brings.
  'apps/!(pdf-page)/*.test.ts',
  'apps/*/!(test|node_modules|dist)/**/!(screenshot).test.ts',
]

/** Files that load the sources and not the build: two replace a module by `vi.mock`, and one names paths of sources. */
const fromSource = [
  'test/claiming/suspect-jobs.test.ts',
  'test/embedded-postgres/data-dir-files.test.ts',
  'src/heartbeat/main-thread-stack.test.ts',
]

/** Files that need a browser: one browser for all of them, in one process. */
const browser = ['test/web/**/*.test.ts']

const aDay = 86_400

/**
 * Orders the files by their last duration, the longest first, and the files that share a process last. The usual order is by size, and
 * one core waits at the end while the other runs a long file.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId, project }: TestSpecification) =>
      (durations[relative(this.ctx.config.root, moduleId)] ?? 0) - (project.config.isolate ? 0 : aDay)
    return (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
  }
}

/** With `?whole` a module shows what it keeps to itself, too: test/support/statements.ts. */
const shown = {
  name: 'shown-whole',
  enforce: 'pre',
  transform(code: string, id: string) {
    if (!id.endsWith('?whole')) return undefined
    const names = [...code.matchAll(/^const (\w+)\b/gm)].map(([, name]) => name)
    return `${code}\nexport { ${names.join(', ')} }`
  },
} as const

const root = fileURLToPath(new URL('.', import.meta.url))

/** Tests load the sources as the build has compiled them: Node loads a compiled module without Vite, in a fraction of the time. */
const built = {
  name: 'built-sources',
  enforce: 'pre',
  resolveId(imported: string, importer: string | undefined) {
    if (importer === undefined || imported.includes('?') || importer.includes('?')) return undefined
    const path = imported.startsWith('.') ? resolve(dirname(importer), imported) : imported
    if (!path.startsWith(source('')) || !path.endsWith('.ts') || path.endsWith('.test.ts')) return undefined
    return { id: `${root}dist/${path.slice(source('').length, -3)}.js`, external: true }
  },
} as const

export default defineConfig({
  plugins: [shown],
  // The examples have packages of their own, from which `retoma` is not to be seen without being installed.
  resolve: {
    alias: [
      { find: /^retoma$/, replacement: source('index.ts') },
      { find: /^retoma\/http$/, replacement: source('http/index.ts') },
      { find: /^retoma\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        plugins: [built],
        test: {
          name: 'alone',
          include: ['apps/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...sharing, ...packages, ...proofs, ...fromSource, ...browser],
        },
      },
      {
        extends: true,
        plugins: [built],
        test: {
          name: 'sharing',
          include: sharing,
          exclude: ['**/node_modules/**', ...packages, ...fromSource],
          isolate: false,
        },
      },
      {
        extends: true,
        plugins: [built],
        test: { name: 'proofs', include: proofs, exclude: ['**/node_modules/**'] },
      },
      {
        extends: true,
        plugins: [built],
        test: {
          name: 'browser',
          include: browser,
          isolate: false,
          globalSetup: ['test/web/support/global-setup.ts'],
        },
      },
      { extends: true, test: { name: 'from-source', include: fromSource } },
      {
        extends: true,
        test: {
          name: 'packages',
          include: packages,
          // Tests of projects that a test runs by their own runner.
          exclude: ['**/node_modules/**', 'test/package/projects/**'],
          globalSetup: ['test/package/global-setup.ts'],
        },
      },
    ],
    // The built program runs as it is, as in a process of its own: test/cli/support.ts.
    server: { deps: { external: [source('../dist/')] } },
    globalSetup: 'test/support/global-setup.ts',
    // Engines that a test makes without a `log` write warnings and errors only.
    env: { LOG_LEVEL: 'warn' },
    pool: 'forks',
    // More than the cores: many files wait for processes and connections most of the time.
    maxWorkers: 4,
    // No promise: only what ends a test that hangs. A busy machine is twenty times as slow as an idle one, and what takes six seconds
    // there, because it starts processes, takes two minutes. No test has a shorter time of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 300_000,
    // By itself a second, which would be a promise.
    expect: { poll: { timeout: 250_000 } },
    // What one test puts in the place of a global, a setting or a method is gone before the next test.
    unstubGlobals: true,
    unstubEnvs: true,
    restoreMocks: true,
    retry: 0,
    sequence: { sequencer: LongestFirst },
    cache: false,
  },
})
