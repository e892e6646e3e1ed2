import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
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
