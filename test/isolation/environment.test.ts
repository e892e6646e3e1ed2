/** The environment of a child never contains a secret that neither the kind nor the call names. */
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, type IsolatedOptions, type Isolation } from '../../src/index.ts'
import { childEnvironment } from '../../src/isolation/child-environment.ts'
import { workingOn } from './support.ts'

const module = new URL('./show-environment.mjs', import.meta.url)

interface Seen {
  names: string[]
  text: string
}

const secret = 'hunter2-of-this-test'

function secretsAround(): void {
  const mine = {
    DATABASE_URL: `postgres://u:${secret}@h/d`,
    AI_API_KEY: `${secret}-key`,
    OTHER_TOKEN: `${secret}-other`,
  }
  for (const [name, value] of Object.entries(mine)) {
    const before = process.env[name]
    process.env[name] = value
    onTestFinished(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
}

test('a process that a handler calls gets no secret of its worker, only the variables that the call names', async () => {
  const asks = defineJob<IsolatedOptions>({
    kind: 'asks',
    maxAttempts: 1,
    run: (ctx, options) => ctx.isolated<Seen>('environment', module, null, options),
  })
  const { engine } = await workingOn(asks)
  secretsAround()
  const seen = async (options: IsolatedOptions) => {
    const { id } = await engine.enqueue(asks, options)
    return (await engine.wait({ job: id })).result as Seen
  }
  const bare = await seen({})
  expect(bare.names).toContain('PATH')
  expect(bare.text).not.toContain(secret)
  // Not the warm one of before.
  const named = await seen({ env: ['AI_API_KEY'] })
  expect(named.names).toContain('AI_API_KEY')
  expect(named.text).not.toContain(`${secret}-other`)
  expect(named.text).not.toContain('postgres://')
  const refused = await engine.wait({ job: (await engine.enqueue(asks, { env: ['A=B'] })).id })
  expect(refused).toMatchObject({
    state: 'failed',
    error: { code: 'bad_option', message: expect.stringMatching(/env/) },
  })
})

test('a handler in a thread or a process gets the variables that its kind names, or all of them', async () => {
  const jobIn = (isolation: Isolation, env?: string[] | 'all') =>
    defineJob<null, Seen>({
      kind: `${isolation}-${env?.length ?? 'none'}`,
      handler: module,
      isolation,
      maxAttempts: 1,
      ...(env ? { env } : {}),
    })
  const jobs = (['process', 'thread'] as const).flatMap(isolation => [
    jobIn(isolation),
    jobIn(isolation, ['AI_API_KEY']),
    jobIn(isolation, 'all'),
  ])
  const { engine } = await workingOn(...jobs)
  secretsAround()
  const seen = await Promise.all(
    jobs.map(async job => {
      const { id } = await engine.enqueue(job, null)
      const { result } = await engine.wait({ job: id })
      return ['AI_API_KEY', 'OTHER_TOKEN', 'DATABASE_URL', 'PATH'].filter(name => (result as Seen).names.includes(name))
    }),
  )
  const each = [['PATH'], ['AI_API_KEY', 'PATH'], ['AI_API_KEY', 'OTHER_TOKEN', 'DATABASE_URL', 'PATH']]
  expect(seen).toEqual([...each, ...each])
})

test('env is refused where it would do nothing, and where it names no variable', () => {
  const define = (options: object) => () => defineJob({ kind: 'k', handler: module, ...options } as never)
  expect(define({ env: ['A'] })).toThrow(/an inline handler has the environment of its worker/)
  expect(define({ isolation: 'process', env: 'everything' })).toThrow(/list of at most 100 names/)
  expect(define({ isolation: 'process', env: ['A B'] })).toThrow(/list of at most 100 names/)
})

test('the variables of a supervisor reach no child, not even one that gets all', () => {
  const real = { PATH: '/bin', RETOMA_CRASH_REPORT_FOLDER: '/p', RETOMA_SUPERVISOR: '1', LC_ALL: 'C', X: 'y' }
  expect(childEnvironment('all', real)).toEqual({ PATH: '/bin', LC_ALL: 'C', X: 'y' })
  expect(childEnvironment([], real)).toEqual({ PATH: '/bin', LC_ALL: 'C' })
})
