import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

/** Those that take longest, by far, because they wait for real time or real processes. */
const long = [
  'examples/next.test.ts',
  'test/cli/supervise.test.ts',
  'test/cli/up.test.ts',
  'test/cli/batch.test.ts',
  'test/heartbeat/heartbeat.test.ts',
  'test/embedded-postgres/lifecycle.test.ts',
  'test/cli/backup.test.ts',
  'test/package/pack.test.ts',
  'test/isolation/child-ends.test.ts',
  'test/cli/guard.test.ts',
  'test/execution/step-transaction.test.ts',
  'apps/classifier/test/extract.test.ts',
  'test/cli/schedules.test.ts',
  'test/isolation/child-crashes.test.ts',
  'test/supervisor/crash-report.test.ts',
  'test/embedded-postgres/data-dir.test.ts',
  'test/embedded-postgres/leave-server.test.ts',
  'test/cli/watchdog.test.ts',
  'test/isolation/isolated-calls.test.ts',
  'test/maintenance/backup.test.ts',
  'test/execution/steps.test.ts',
  'test/batches/batch-concurrency.test.ts',
  'test/cli/token.test.ts',
  'examples/run.test.ts',
  'examples/every-route.test.ts',
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
]

/**
 * Begins with the long ones, and ends with those that share a process. By itself it begins with the largest files, and one
 * core waits at the end while the other is at one of these.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => {
      if (!project.config.isolate) return long.length + 1
      const found = long.indexOf(relative(this.ctx.config.root, moduleId))
      return found === -1 ? long.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
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
        test: {
          name: 'alone',
          include: ['apps/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...sharing],
        },
      },
      { extends: true, test: { name: 'sharing', include: sharing, isolate: false } },
    ],
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    maxWorkers: 3,
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
