/** The files that `retoma init` writes: text to be read and changed by whoever asked for it. */

export const firstConfig = `import { defineConfig, defineJob } from 'retoma'

/** What a hello job is given. To have it checked at run time, pass a schema of zod, valibot or arktype as \`input\`. */
interface Hello {
  name: string
}

export const hello = defineJob({
  kind: 'hello',
  // attempts: 3, backoff: { first: seconds(5), factor: 2 }, timeout: minutes(2),
  run: async (ctx, input: Hello) => {
    ctx.log.info({ name: input.name }, 'greeting')
    return { greeting: \`Hello, \${input.name}!\` }
  },
})

export default defineConfig({ jobs: [hello] })
`

/** Nothing in it but \`test\` comes from the runner, so it reads the same for any of them. */
export const firstTest = (runner: 'node:test' | 'vitest'): string => `import assert from 'node:assert/strict'
import { test } from '${runner}'
import { testEngine } from 'retoma/testing'
import { hello } from './retoma.config.ts'

test('hello greets by name', async () => {
  // A real PostgreSQL with a database of its own; close() takes it away again.
  const { engine, run, close } = await testEngine({ jobs: [hello] })
  try {
    const { id } = await engine.enqueue(hello, { name: 'Ana' })
    await run()

    const job = await engine.job(id)
    assert.equal(job?.state, 'succeeded')
    assert.deepEqual(job?.result, { greeting: 'Hello, Ana!' })
  } finally {
    await close()
  }
})
`
