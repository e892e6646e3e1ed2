/** Generates the files of `retoma init`: text for the user to read and change. */
import type { GuardProposal } from '../../guards/model/guard-proposal.ts'

/** `guards`: proposals from the tables of the database; the user registers them after a review. */
export const firstConfig = (guards: readonly GuardProposal[] = []): string => `${imports(guards.length > 0)}

/** What a hello job is given. To have it checked at run time, pass a schema of zod, valibot or arktype as \`input\`. */
interface Hello {
  name: string
}

export const hello = defineJob({
  kind: 'hello',
  // maxAttempts: 3, backoff: { first: seconds(5), factor: 2 }, timeout: minutes(2),
  run: async (ctx, input: Hello) => {
    ctx.log.info({ name: input.name }, 'greeting')
    return { greeting: \`Hello, \${input.name}!\` }
  },
})

${guards.length > 0 ? proposed(guards) : 'export default defineConfig({ jobs: [hello] })\n'}`

const imports = (guarding: boolean): string =>
  guarding
    ? `import { defineConfig, defineGuard, defineJob, minutes } from 'retoma'`
    : `import { defineConfig, defineJob } from 'retoma'`

const proposed = (guards: readonly GuardProposal[]): string => `/**
 * Tables of your database whose rows may stay at work for ever when a process dies. Nothing is guarded yet: see what each would
 * mark (it changes nothing), mend what was guessed wrong, then put those you want into \`guards\` below.
 */
export const proposed = [
${guards.map(guardText).join('\n')}
]

export default defineConfig({ jobs: [hello], guards: [] }) // guards: proposed
`

const guardText = (guard: GuardProposal): string => `  // ${dryRunCommand(guard).replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}
  defineGuard({
    name: ${quoted(guard.name)},
    table: ${quoted(guard.table)},
    status: { column: ${quoted(guard.status.column)}, running: ${oneOrList(guard.status.running)} },
    signal: ${oneOrList(guard.signal)},
    after: minutes(10),
    set: { ${Object.entries(guard.set).map(pair).join(', ')} },
  }),`

/** The command that shows, without changing anything, how many rows a guard would change. */
export function dryRunCommand({ table, status, signal, set }: GuardProposal): string {
  const flags = [
    ['--table', table],
    ...status.running.map(value => ['--status', `${named(status.column)}=${value}`]),
    ...signal.map(column => ['--signal', column]),
    ['--after', '10m'],
    ...Object.entries(set).map(([column, value]) => ['--set', `${named(column)}=${value}`]),
  ]
  return `npx retoma guard ${flags.map(([flag, value]) => `${flag} ${typed(value!)}`).join(' ')} --dry-run`
}

const named = (column: string): string => (/["=]/.test(column) ? `"${column.replaceAll('"', '""')}"` : column)
/** Quotes for a shell. */
const typed = (value: string): string =>
  /^[\w.=@%+:,/-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`

/** Quotes for TypeScript, in the form a person would write. */
const quoted = (value: string): string =>
  /[\\'\p{Cc}\u2028\u2029]/u.test(value) ? JSON.stringify(value) : `'${value}'`
const oneOrList = (values: readonly string[]): string =>
  values.length === 1 ? quoted(values[0]!) : `[${values.map(quoted).join(', ')}]`
const pair = ([column, value]: [string, string]): string =>
  `${/^[A-Za-z_]\w*$/.test(column) ? column : quoted(column)}: ${quoted(value)}`

/** Only `test` comes from the runner, so the text is the same for every runner. */
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
