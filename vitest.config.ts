import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

export default defineConfig({
  // The examples have packages of their own, from which `retoma` is not to be seen without being installed.
  resolve: {
    alias: [
      { find: /^retoma$/, replacement: source('index.ts') },
      { find: /^retoma\/http$/, replacement: source('http/index.ts') },
      { find: /^retoma\/testing$/, replacement: source('testing/index.ts') },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'apps/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    maxWorkers: 2,
    // No promise: only what ends a test that hangs. A busy machine is ten times as slow as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    cache: false,
  },
})
