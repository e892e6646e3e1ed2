/** `ctx.isolated`: a function in a process of its own, whose end is the handler's to judge, and never the worker's death. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, type IsolatedOptions, type JobContext, megabytes, minutes, seconds } from '../../src/index.ts'
import { lowerPriority } from '../../src/isolation/process-child.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { coreCount } from '../../src/lib/process/core-count.ts'
import { engineOf, liveEngine, until } from '../support/engine.ts'
import { jobIn } from './jobs.ts'
import { isAlive, workingWith } from './support.ts'

const called = new URL('./called.mjs', import.meta.url)

/** What called.mjs is to do. */
interface Errand {
  do: string
  note?: string
}

type Asked = Errand & { options?: IsolatedOptions; times?: number }

/** Says how a call ended: what it answered, or the error as the handler sees it. */
const asking = (isolation: 'inline' | 'caught' = 'caught') =>
  defineJob<Asked>({
    kind: 'asks',
    maxAttempts: 1,
    maxCrashes: 1,
    timeout: minutes(2),
    run: async (ctx, { options, times = 1, ...childTask }) => {
      const all = Array.from({ length: times }, (_, index) =>
        ctx.isolated(`called ${index}`, called, childTask, options),
      )
      if (isolation === 'inline') return Promise.all(all)
      const ends = await Promise.allSettled(all)
      return ends.map(end => (end.status === 'fulfilled' ? shown(end.value) : reported(end.reason)))
    },
  })

const shown = (value: unknown) =>
  value instanceof Object && 'map' in value ? { ...value, map: String([...(value.map as Map<string, bigint>)]) } : value

function reported(error: unknown) {
  const { name, message, code, stack, facts, cause } = error as Error & { code?: string; facts?: object }
  return { name, message, code, stack, facts, cause: (cause as Error | undefined)?.message }
}

const grace = seconds(5)

async function workingAsking(job = asking()) {
  const at = await workingWith({ grace, queues: { default: 10 } }, job)
  return {
    ...at,
    /** Of one call each. */
    async ask(asked: Asked) {
      const { id } = await at.engine.enqueue(job, asked)
      const ended = await at.engine.wait({ job: id })
      expect(ended).toMatchObject({ crashes: 0, restarts: 0 })
      return { ended, answer: (ended.result as never[] | null)?.[0] as unknown }
    },
  }
}

async function folderFor(): Promise<(name: string) => string> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-called-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return name => join(folder, name)
}

/** Who wrote it, once it has. */
async function written(file: string): Promise<number> {
  await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
  return Number(readFileSync(file, 'utf8'))
}

test('what it returns comes back as it was, from a process that is used again unless its function failed', async () => {
  const { ask } = await workingAsking()
  const first = (await ask({ do: 'answer', note: 'é' })).answer as { pid: number }
  expect(first).toMatchObject({ note: 'é', map: 'a,1' })
  expect(first.pid).not.toBe(process.pid)
  expect((await ask({ do: 'answer' })).answer).toMatchObject({ pid: first.pid })
  expect((await ask({ do: 'fail' })).answer).toMatchObject({
    name: 'TypeError',
    message: 'not that',
    code: 'E_THAT',
    stack: expect.stringContaining('called.mjs'),
  })
  expect((await ask({ do: 'answer' })).answer).not.toMatchObject({ pid: first.pid })
})

test('however its process dies, that is an error of the call, and no crash of the job or the worker', async () => {
  const file = (await folderFor())('spin')
  const { ask, worker } = await workingAsking()
  const before = worker.id
  const ends = async (deed: string, message: string, facts: object, options?: IsolatedOptions) => {
    const { ended, answer } = await ask({ do: deed, note: file, ...(options && { options }) })
    expect(ended).toMatchObject({ state: 'succeeded', failures: 0, history: [] })
    expect(answer).toMatchObject({ message, facts: { step: 'called 0', ...facts } })
  }
  const died = 'isolated_crash: the process of step "called 0" died: '
  await Promise.all([
    ends('exit', `${died}it called process.exit(7)`, { exitCode: 7 }),
    ends('abort', `${died}SIGABRT`, { signal: 'SIGABRT' }),
    ends('uncaught', `${died}an error that nobody caught: boom`, { exitCode: 1 }),
    ends(
      'allocate',
      'isolated_memory: step "called 0" took more than its 192 MB of memory, and its process was ended',
      { megabytes: 192 },
      { memory: megabytes(192) },
    ),
    ends(
      'spin',
      'isolated_timeout: step "called 0" took longer than its timeout of 3 s, and its process was ended',
      { seconds: 3 },
      { timeout: seconds(3) },
    ),
  ])
  expect(isAlive(await written(file))).toBe(false)
  expect((await ask({ do: 'answer' })).ended.state).toBe('succeeded')
  expect(worker.id).toBe(before)
})

test('one that nobody caught is an ordinary failed attempt, and doNotRetry ends the job', async () => {
  const job = { ...asking('inline'), kind: 'bare' }
  const { engine } = await workingWith({ grace }, job)
  const ends = async (asked: Asked, attempts: number) => {
    job.policy = {
      ...job.policy,
      maxAttempts: attempts,
      backoff: { ...job.policy.backoff, first: 1 as never, jitter: 0 },
    }
    const { id } = await engine.enqueue(job, asked)
    return engine.wait({ job: id })
  }
  const crashed = await ends({ do: 'exit' }, 2)
  expect(crashed).toMatchObject({ state: 'failed', attempt: 2, failures: 2, crashes: 0, restarts: 0 })
  expect(crashed.error).toMatchObject({ code: 'isolated_crash' })
  expect((await engine.job(crashed.id))!.history).toMatchObject([{ type: 'error' }, { type: 'error' }])
  expect(await ends({ do: 'final' }, 5)).toMatchObject({ state: 'failed', attempt: 1, error: { message: 'never' } })
})

test('a result that cannot be kept, or is too large, is refused', async () => {
  const { ask } = await workingAsking()
  const answerTo = async (asked: Asked) => (await ask(asked)).answer
  const large = { do: 'large', note: '2000000' } as const
  const ends = [{ do: 'class' } as const, large, { ...large, options: { maxBytes: megabytes(4) } }].map(answerTo)
  expect(await ends[0]).toMatchObject({ code: 'bad_value' })
  expect(await ends[1]).toMatchObject({ code: 'step_too_large' })
  expect(await ends[2]).toHaveLength(2_000_000)
})

test.each<[string, (ctx: JobContext) => Promise<unknown>, string, RegExp]>([
  ['no address', ctx => ctx.isolated('s', './x.js' as never, 1), 'bad_option', /module/],
  ['no file', ctx => ctx.isolated('s', new URL('https://x.example/x.js'), 1), 'bad_option', /module/],
  ['too little memory', ctx => ctx.isolated('s', called, 1, { memory: 1000 }), 'bad_option', /memory/],
  ['no niceness', ctx => ctx.isolated('s', called, 1, { nice: 20 }), 'bad_option', /nice/],
  ['no such option', ctx => ctx.isolated('s', called, 1, { timeOut: 1 } as never), 'bad_option', /timeOut/],
  ['a function as input', ctx => ctx.isolated('s', called, () => 1), 'bad_value', /input of step "s"/],
  ['no module', ctx => ctx.isolated('s', new URL('./gone.mjs', called), 1), 'isolated_unusable', /gone\.mjs/],
  [
    'no function',
    ctx => ctx.isolated('s', new URL('../../dist/errors/brand.js', called), 1),
    'isolated_unusable',
    /no function/,
  ],
])('%s: refused, and said so', async (_, call, code, message) => {
  const job = defineJob({ kind: 'wrong', maxAttempts: 1, run: call })
  const { engine } = await workingWith({ grace }, job)
  const { id } = await engine.enqueue(job, undefined)
  const { error } = await engine.wait({ job: id })
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
})

test('a function with a niceness gives way to other processes with all its threads, and others do not', async () => {
  const { ask } = await workingAsking()
  const nicenessOf = async (options: IsolatedOptions) => (await ask({ do: 'niceness', options })).answer
  expect(await nicenessOf({ nice: 5 })).toBe('5')
  expect(await nicenessOf({})).toBe(`${getPriority()}`)
})

test.runIf(process.platform === 'linux')(
  'a process that has its threads already gets the niceness with all its threads',
  async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("up")'], { stdio: 'pipe' })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    lowerPriority(child.pid!, 5)
    const threads = readdirSync(`/proc/${child.pid}/task`)
    expect(threads.length).toBeGreaterThan(1)
    expect(new Set(threads.map(thread => getPriority(Number(thread))))).toEqual(new Set([5]))
  },
)

test('a later attempt has its result without calling it again', async () => {
  const job = defineJob({
    kind: 'twice',
    maxAttempts: 2,
    backoff: { first: 1 as never, jitter: 0 },
    run: async ctx => {
      const { pid } = await ctx.isolated<{ pid: number }>('called', called, { do: 'answer' })
      const before = ctx.resumeData
      await ctx.checkpoint('pid', pid)
      // The next one would have another process.
      if (ctx.attempt === 1) process.kill(pid, 'SIGKILL')
      if (ctx.attempt === 1) throw new Error('again')
      return [before, pid]
    },
  })
  const { engine } = await workingWith({ grace }, job)
  const { id } = await engine.enqueue(job, undefined)
  const { attempt, result } = await engine.wait({ job: id })
  const [before, after] = result as [number, number]
  expect({ attempt, after }).toEqual({ attempt: 2, after: before })
})

test('no more at once than there are cores, and waiting for a turn is no time of the function or of the job', async () => {
  const cores = coreCount()
  const job = { ...asking('inline'), kind: 'crowd' }
  // Each would be out of time if its wait counted.
  job.policy = { ...job.policy, timeout: seconds(3) }
  const { engine } = await workingWith({ grace }, job)
  const options = { timeout: seconds(2.4) }
  const { id } = await engine.enqueue(job, { do: 'hold', note: '400', times: cores * 6, options })
  const ended = await engine.wait({ job: id })
  expect(ended).toMatchObject({ state: 'succeeded', failures: 0 })
  const spans = ended.result as [from: number, to: number][]
  expect(Math.max(...spans.map(([at]) => spans.filter(([from, to]) => from <= at && at < to).length))).toBe(cores)
})

test('a worker that stops leaves no process, and hands the job back', async () => {
  const file = (await folderFor())('pid')
  const job = asking('inline')
  const { engine, worker } = await workingAsking(job)
  const { id } = await engine.enqueue(job, { do: 'spin', note: file })
  const pid = await written(file)
  await worker.stop()
  expect(isAlive(pid)).toBe(false)
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0, crashes: 0, restarts: 0 })
})

test('a job that is cancelled, or out of time, kills what it has called', async () => {
  const at = await folderFor()
  const asks = asking('inline')
  const [job, short] = [asks, { ...asks, kind: 'short', policy: { ...asks.policy, timeout: seconds(3) } }]
  const { engine } = await workingWith({ grace }, job, short)
  const { id } = await engine.enqueue(job, { do: 'spin', note: at('cancelled') })
  const late = await engine.enqueue(short, { do: 'spin', note: at('late') })
  const cancelled = await written(at('cancelled'))
  await engine.jobs.cancel(id)
  expect(await engine.wait({ job: late.id })).toMatchObject({ state: 'failed', error: { code: 'attempt_timeout' } })
  expect(isAlive(await written(at('late')))).toBe(false)
  await until(() => !isAlive(cancelled))
})

test("it hears when its time is up, and what it answers as its last word counts; what it logs is its job's", async () => {
  const job = asking()
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => void lines.push(line) })
  const { engine } = await liveEngine([job], { log })
  await engine.work()
  const { id } = await engine.enqueue(job, { do: 'log' })
  await engine.wait({ job: id })
  const line = lines.find(each => each.includes('read a page'))!
  expect(JSON.parse(line)).toMatchObject({ job: id, kind: 'asks', attempt: 1, page: 1 })
  // Its module is loaded by then.
  const late = await engine.enqueue(job, { do: 'heed', options: { timeout: seconds(0.2) } })
  expect((await engine.wait({ job: late.id })).result).toEqual(['heard isolated_timeout'])
})

test('on a clock that a test moves it works as well, in real time', async () => {
  const job = asking()
  const t = await engineOf({ jobs: [job] })
  const { id } = await t.engine.enqueue(job, { do: 'answer' })
  const late = await t.engine.enqueue(job, { do: 'uncaught', options: { timeout: seconds(5) } })
  await t.run()
  expect((await t.engine.job(id))!.result).toMatchObject([{ map: 'a,1' }])
  expect((await t.engine.job(late.id))!.result).toMatchObject([{ code: 'isolated_crash' }])
})

test('jobs log with a logger without child, such as console: ctx.log, an isolated job and ctx.isolated', async () => {
  const lines: [string, unknown, string][] = []
  const method = (level: string) => (facts: unknown, message: string) => void lines.push([level, facts, message])
  const log = { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') }
  const logs = defineJob({
    kind: 'logs',
    maxAttempts: 1,
    async run(ctx) {
      ctx.log.info({ page: 0 }, 'begun')
      await ctx.isolated('logs', called, { do: 'log' })
    },
  })
  const apart = jobIn('process', { maxAttempts: 1 })
  const { engine } = await liveEngine([logs, apart], { log })
  await using _ = await engine.work()
  const [one, other] = [await engine.enqueue(logs, undefined), await engine.enqueue(apart, { do: 'answer', note: 'x' })]
  expect(await engine.wait({ job: one })).toMatchObject({ state: 'succeeded', error: null })
  expect(await engine.wait({ job: other })).toMatchObject({ state: 'succeeded', error: null })
  expect(lines).toContainEqual(['info', expect.objectContaining({ job: one.id, kind: 'logs', page: 0 }), 'begun'])
  expect(lines).toContainEqual(['info', expect.objectContaining({ job: one.id, page: 1 }), 'read a page'])
})
