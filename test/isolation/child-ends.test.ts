/** A child gets the signal, has its grace, and is dead after it; it never outlives its parent or its parent's right to the job. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { defineBatch, type ItemOptions, seconds } from '../../src/index.ts'
import { liveEngine, shareDatabase, until } from '../support/engine.ts'
import { linkTo } from '../support/link.ts'
import { onTestFinished, together } from '../support/together.ts'
import { begun, jobIn, type Told } from './jobs.ts'
import { isAlive, workingOn, workingWith } from './support.ts'

/** A separate process that runs one job in a child; the child loops for ever. */
async function parentOfSpinning(): Promise<{ parent: number; child: number }> {
  const url = await shareDatabase()
  const script = fileURLToPath(new URL('./guest.mjs', import.meta.url))
  const guest = spawn(process.execPath, [script, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(guest, 'exit')
  onTestFinished(async () => {
    guest.kill('SIGKILL')
    await gone
  })
  for await (const line of createInterface({ input: guest.stdout })) {
    const child = Number(line)
    onTestFinished(() => void (isAlive(child) && process.kill(child, 'SIGKILL')))
    return { parent: guest.pid!, child }
  }
  throw new Error('the guest ended before its job began')
}

/** What whoever opens it waits at, for good: until the test is over there is no writer. */
async function pipeWithoutWriter(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-fifo-'))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  onTestFinished(async () => {
    closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
    await rm(folder, { recursive: true })
  })
  return pipe
}

test.each(['listen', 'spin'] as const)(
  'a worker that stops releases what runs in its child, which is gone then (%s)',
  async deed => {
    const job = jobIn('process')
    const { engine, worker } = await workingOn(job)
    const { id } = await engine.enqueue(job, { do: deed })
    const { pid } = await begun(engine, id)
    await worker.stop()
    expect(await engine.job(id)).toMatchObject({ state: 'waiting', attempt: 1, failures: 0, crashes: 0, restarts: 0 })
    expect(isAlive(pid)).toBe(false)
  },
)

test('a worker that stops releases what runs in its thread', async () => {
  const job = jobIn('thread')
  const { engine, worker } = await workingOn(job)
  const { id } = await engine.enqueue(job, { do: 'spin' })
  await begun(engine, id)
  await worker.stop()
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', attempt: 1, failures: 0, crashes: 0 })
})

test.each(['thread', 'process'] as const)('what a batch asks for its items holds in a %s, too', async isolation => {
  const job = jobIn(isolation, { maxAttempts: 1 })
  const batch = defineBatch({ name: 'b', job, items: { maxAttempts: 2 } })
  const { engine } = await workingOn(job)
  const end = async (reported: Told, items: ItemOptions) => {
    const { id } = await engine.submit(batch, [reported], { items })
    await engine.wait({ batch: id })
    return (await engine.batches.items(id)).items[0]!
  }
  // How it ended is decided in the child; when its time is up, by its parent.
  expect(await end({ do: 'swallowed' }, {})).toMatchObject({ state: 'failed', failures: 2 })
  expect(await end({ do: 'swallowed' }, { maxAttempts: 4 })).toMatchObject({ state: 'failed', failures: 4 })
  const late = await end({ do: 'spin' }, { maxAttempts: 1, timeout: seconds(2) })
  expect(late).toMatchObject({ state: 'failed', error: { code: 'attempt_timeout' } })
  if (isolation === 'thread') return
  expect(await end({ do: 'abort' }, { maxAttempts: 9, maxCrashes: 2 })).toMatchObject({ state: 'failed', crashes: 2 })
})

test('a process without a descriptor left lives on when it cannot start a child', () => {
  const script = fileURLToPath(new URL('./no-descriptors.mjs', import.meta.url))
  const said = execFileSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, script], {
    encoding: 'utf8',
  })
  expect(said).toBe('child_not_started\n')
})

test('a child that spins is gone soon after its parent was killed', async () => {
  const { parent, child } = await parentOfSpinning()
  expect(isAlive(child)).toBe(true)
  const killed = performance.now()
  process.kill(parent, 'SIGKILL')
  await until(() => !isAlive(child))
  expect(performance.now() - killed).toBeLessThan(10_000)
})

// What follows waits for time to pass, all of it at once.

together('a cancelled job is dead in its child, though that spins', async () => {
  const job = jobIn('process')
  const { engine } = await workingOn(job)
  const { id } = await engine.enqueue(job, { do: 'spin' })
  const { pid } = await begun(engine, id)
  await engine.jobs.cancel(id)
  await until(() => !isAlive(pid))
  expect(await engine.job(id)).toMatchObject({ state: 'cancelled', failures: 0, crashes: 0 })
})

together('a worker that was declared dead kills the children of its life, and charges nobody', async () => {
  const job = jobIn('process', { maxAttempts: 1 })
  const { engine, worker, sql } = await workingWith({ grace: seconds(30) }, job)
  const { id } = await engine.enqueue(job, { do: 'spinOnce' })
  const { pid } = await begun(engine, id)
  const before = worker.id
  await sql(`update retoma.worker set dead_at = now()`)
  await until(() => !isAlive(pid))
  await until(() => worker.id !== before)
  expect(await engine.job(id)).toMatchObject({ failures: 0, crashes: 0 })
})

together(
  'a worker that cannot be heard ends its children, and hands their jobs back once the database is there again',
  async () => {
    const job = jobIn('process', { maxAttempts: 1, orphanAfter: seconds(15) })
    const link = await linkTo(await shareDatabase())
    const { engine } = await liveEngine([job], {}, link.url)
    await engine.work({ grace: seconds(60) })
    const { id } = await engine.enqueue(job, { do: 'spinOnce' })
    const { pid } = await begun(engine, id)
    link.cut()
    const cut = performance.now()
    await until(() => !isAlive(pid))
    expect(performance.now() - cut).toBeGreaterThan(5000)
    link.mend()
    const row = () => engine.job(id).catch(() => undefined)
    await until(async () => ((await row())?.attempt ?? 0) > 1)
    expect(await engine.job(id)).toMatchObject({ state: 'running', failures: 0, crashes: 0, restarts: 0, history: [] })
  },
)

together('a child that spins is gone when its parent was stopped for half of orphanAfter, and not before', async () => {
  const { parent, child } = await parentOfSpinning()
  const stopped = performance.now()
  process.kill(parent, 'SIGSTOP')
  await until(() => !isAlive(child))
  const took = performance.now() - stopped
  expect(took).toBeGreaterThan(7000)
  expect(took).toBeLessThan(20_000)
})

together('a thread that cannot be ended is left behind, and another one takes its place', async () => {
  // Long enough for the other one to answer on a busy machine.
  const job = jobIn('thread', { maxAttempts: 1, timeout: seconds(4) })
  const { ends } = await workingOn(job)
  const stuck = await ends(job, { do: 'stuck', note: await pipeWithoutWriter() })
  // No evidence: it is not dead.
  expect(stuck).toMatchObject({ state: 'failed', failures: 1, history: [{ type: 'timeout', evidence: null }] })
  expect(await ends(job, { do: 'answer' })).toMatchObject({ state: 'succeeded', failures: 0 })
})

together('the place of a thread that cannot be ended is free again, however long its grace', async () => {
  // Time enough to load its handler on a busy machine: it is to be stuck, not on its way.
  const job = jobIn('thread', { maxAttempts: 1, timeout: seconds(5) })
  const { ends } = await workingWith({ grace: seconds(10), queues: { default: 1 } }, job)
  const stuck = { do: 'stuck', note: await pipeWithoutWriter() } as const
  expect(await ends(job, stuck)).toMatchObject({ state: 'failed', failures: 1 })
  expect(await ends(job, { do: 'answer' })).toMatchObject({ state: 'succeeded' })
})

together('where only its heart cannot be heard, a worker keeps its children: its main loop beats', async () => {
  const job = jobIn('process', { maxAttempts: 1, orphanAfter: seconds(15) })
  const { engine, url } = await liveEngine([job], { databaseDirectUrl: 'postgres://nobody@127.0.0.1:1/nothing' })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  await engine.work({ grace: seconds(0.2) })
  const { id } = await engine.enqueue(job, { do: 'wait' })
  const { pid } = await begun(engine, id)
  // Longer than a worker may be silent.
  await client.query('select pg_sleep(16)')
  expect(isAlive(pid)).toBe(true)
  expect(await engine.job(id)).toMatchObject({ state: 'running', attempt: 1 })
})
