/**
 * The mistakes that users make, many of them by the words of the library that they come from. A mistake is a RetomaError whose message
 * names the fix, or the engine accepts the call on purpose and the table gives the reason.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createApp, route } from '../../src/http/index.ts'
import {
  createEngine,
  days,
  defineBatch,
  defineErrors,
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  isRetomaError,
  minutes,
  providerWait,
  RetomaError,
  seconds,
  snooze,
} from '../../src/index.ts'
import { type TestEngine, testEngine } from '../../src/testing/index.ts'
import { borrowDatabase } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

// biome-ignore lint/suspicious/noExplicitAny: a mistake is what the compiler would refuse
type Wrong = any

const run = () => 1
const mail = defineJob({ kind: 'mail', input: z.object({ to: z.string() }), run: (_, { to }) => to })
const anything = defineJob({ kind: 'anything', run: (_, input: unknown) => input })
const letters = defineBatch({ name: 'letters', job: mail })
const to = { to: 'ana@example.com' }
const job = defineJob as (options: Wrong) => unknown
const schedule = defineSchedule as (options: Wrong) => unknown

class Order {
  id = 7
}
const circle: Wrong = { inside: {} }
circle.inside.again = circle

interface Given {
  /** The shared engine, without types. */
  engine: Engine & Wrong
  closed: Engine & Wrong
  url: string
  pool: pg.Pool
}

type Refused = [mistake: string, call: (given: Given) => unknown, code: string, fix: string | RegExp]

const defining: Refused[] = [
  ['no kind', () => job({ run }), 'bad_definition', 'kind must be 1 to 100 letters'],
  ['a kind with a space', () => job({ kind: 'send mail', run }), 'bad_definition', 'kind must be 1 to 100 letters'],
  ['name for kind', () => job({ name: 'mail', run }), 'bad_definition', 'did you mean "kind"?'],
  ['id for kind (Trigger.dev)', () => job({ id: 'mail', run }), 'bad_definition', 'did you mean "kind"?'],
  ['no run', () => job({ kind: 'mail' }), 'bad_definition', 'run must be a function (ctx, input) => result'],
  ['processor for run (BullMQ)', () => job({ kind: 'mail', processor: run }), 'bad_definition', 'did you mean "run"?'],
  ['perform for run (Oban)', () => job({ kind: 'mail', perform: run }), 'bad_definition', 'did you mean "run"?'],
  ['the result of run for run', () => job({ kind: 'mail', run: run() }), 'bad_definition', 'run must be a function'],
  ['a function for handler', () => job({ kind: 'mail', handler: run }), 'bad_definition', 'goes to run'],
  ['a path for handler', () => job({ kind: 'mail', handler: './mail.js' }), 'bad_definition', "new URL('./work.js', import.meta.url)"],
  ['run and handler', () => job({ kind: 'mail', run, handler: new URL(import.meta.url) }), 'bad_definition', 'give one of them'],
  ['isolation with an inline function', () => job({ kind: 'mail', run, isolation: 'process' }), 'bad_definition', 'needs its handler in a module'],
  ['an unknown isolation', () => job({ kind: 'mail', run, isolation: 'vm' }), 'bad_definition', 'one of inline, thread, process'],
  ['attempts (BullMQ)', () => job({ kind: 'mail', run, attempts: 5 }), 'bad_definition', 'did you mean "maxAttempts"?'],
  ['retryLimit (pg-boss)', () => job({ kind: 'mail', run, retryLimit: 5 }), 'bad_definition', 'did you mean "maxAttempts"?'],
  ['maxRetries (DBOS)', () => job({ kind: 'mail', run, maxRetries: 5 }), 'bad_definition', 'did you mean "maxAttempts"?'],
  ['max_attempts (Oban)', () => job({ kind: 'mail', run, max_attempts: 5 }), 'bad_definition', 'did you mean "maxAttempts"?'],
  ['maximumAttempts (Temporal)', () => job({ kind: 'mail', run, maximumAttempts: 5 }), 'bad_definition', 'did you mean "maxAttempts"?'],
  ['no attempt at all', () => job({ kind: 'mail', run, maxAttempts: 0 }), 'bad_definition', 'a whole number from 1, not 0'],
  ['attempts as a text', () => job({ kind: 'mail', run, maxAttempts: '3' }), 'bad_definition', 'a whole number from 1'],
  ['backoff of BullMQ', () => job({ kind: 'mail', run, backoff: { type: 'exponential', delay: 1000 } }), 'bad_definition', '"backoff.type", did you mean "factor"?'],
  ['the delay of a backoff', () => job({ kind: 'mail', run, backoff: { delay: 1000 } }), 'bad_definition', 'did you mean "first"?'],
  ['a word for backoff', () => job({ kind: 'mail', run, backoff: 'exponential' }), 'bad_definition', 'backoff takes { first, factor, max, jitter }'],
  ['retryBackoff (pg-boss)', () => job({ kind: 'mail', run, retryBackoff: true }), 'bad_definition', 'did you mean "backoff"?'],
  ['a timeout as a text', () => job({ kind: 'mail', run, timeout: '30s' }), 'bad_definition', 'such as minutes(2)'],
  ['a timeout of zero', () => job({ kind: 'mail', run, timeout: 0 }), 'bad_definition', 'a duration above zero'],
  ['timeoutMs', () => job({ kind: 'mail', run, timeoutMs: 1000 }), 'bad_definition', 'did you mean "timeout"?'],
  ['expireInSeconds (pg-boss)', () => job({ kind: 'mail', run, expireInSeconds: 60 }), 'bad_definition', 'did you mean "timeout"?'],
  ['startToCloseTimeout (Temporal)', () => job({ kind: 'mail', run, startToCloseTimeout: '1m' }), 'bad_definition', 'did you mean "timeout"?'],
  ['maxDuration (Trigger.dev)', () => job({ kind: 'mail', run, maxDuration: 60 }), 'bad_definition', 'did you mean "timeout"?'],
  ['stalledInterval (BullMQ)', () => job({ kind: 'mail', run, stalledInterval: 30_000 }), 'bad_definition', 'did you mean "orphanAfter"?'],
  ['maxStalledCount (BullMQ)', () => job({ kind: 'mail', run, maxStalledCount: 1 }), 'bad_definition', 'did you mean "maxCrashes"?'],
  ['ttl (Trigger.dev)', () => job({ kind: 'mail', run, ttl: '1h' }), 'bad_definition', 'did you mean "maxAge"?'],
  ['concurrency of a job', () => job({ kind: 'mail', run, concurrency: 5 }), 'bad_definition', 'engine.work({ queues: { mail: 20 } })'],
  ['limiter (BullMQ)', () => job({ kind: 'mail', run, limiter: { max: 1 } }), 'bad_definition', 'createEngine({ limits:'],
  ['removeOnComplete (BullMQ)', () => job({ kind: 'mail', run, removeOnComplete: true }), 'bad_definition', 'did you mean "retention"?'],
  ['a retention as a text', () => job({ kind: 'mail', run, retention: '30 days' }), 'bad_definition', 'such as days(90)'],
  ['a retention by a state of a peer', () => job({ kind: 'mail', run, retention: { completed: days(1) } }), 'bad_definition', 'there is no final state "completed"'],
  ['cron in a job', () => job({ kind: 'mail', run, cron: '0 4 * * *' }), 'bad_definition', 'defineSchedule('],
  ['queueName (graphile-worker)', () => job({ kind: 'mail', run, queueName: 'mail' }), 'bad_definition', 'did you mean "queue"?'],
  ['priority of a kind', () => job({ kind: 'mail', run, priority: 1 }), 'bad_definition', 'enqueue(job, input, { priority: 0 })'],
  ['onFailure (Trigger.dev)', () => job({ kind: 'mail', run, onFailure: run }), 'bad_definition', 'handle.result()'],
  ['schema for input', () => job({ kind: 'mail', run, schema: z.string() }), 'bad_definition', 'did you mean "input"?'],
  ['a shape for a schema', () => job({ kind: 'mail', run, input: { to: 'string' } }), 'bad_definition', 'a Standard Schema, such as one of zod'],
  ['memory in megabytes', () => job({ kind: 'mail', handler: new URL(import.meta.url), isolation: 'process', memory: 512 }), 'bad_definition', 'at least megabytes(128)'],
  ['variables of an inline handler', () => job({ kind: 'mail', run, env: ['KEY'] }), 'bad_definition', 'has the environment of its worker'],
  ['two definitions of a kind', ({ url }) => createEngine({ databaseUrl: url, jobs: [mail, defineJob({ kind: 'mail', run })] }), 'bad_definition', 'same kind'],
  ['a schedule without a time', () => schedule({ name: 'nightly', job: anything }), 'bad_definition', 'cron'],
  ['a schedule with two times', () => schedule({ name: 'nightly', job: anything, cron: '0 4 * * *', every: minutes(5) }), 'bad_definition', 'every'],
  ['a cron that is none', () => schedule({ name: 'nightly', job: anything, cron: 'daily' }), 'bad_definition', 'cron'],
  ['pattern (BullMQ)', () => schedule({ name: 'nightly', job: anything, pattern: '0 4 * * *' }), 'bad_definition', 'did you mean "cron"?'],
  ['tz (pg-boss)', () => schedule({ name: 'nightly', job: anything, cron: '0 4 * * *', tz: 'America/Sao_Paulo' }), 'bad_definition', 'did you mean "timeZone"?'],
  ['a misspelled time zone', () => schedule({ name: 'nightly', job: anything, cron: '0 4 * * *', timeZone: 'America/SaoPaulo' }), 'bad_definition', 'America/Sao_Paulo'],
  ['the kind for the job of a schedule', () => schedule({ name: 'nightly', job: 'mail', cron: '0 4 * * *' }), 'bad_definition', 'defineJob'],
  ['a batch of a function', () => defineBatch({ name: 'letters', job: run as Wrong }), 'bad_definition', 'defineJob'],
  ['a function for onComplete', () => defineBatch({ name: 'letters', job: mail, onComplete: run as Wrong }), 'bad_definition', 'defineJob'],
  ['a guard without a table', () => defineGuard({ name: 'lost', signal: 'updated_at', after: minutes(1) } as Wrong), 'bad_definition', 'table'],
  ['an error without Portuguese', () => defineErrors({ sold_out: { status: 409, en: 'sold' } as Wrong }), 'bad_definition', 'in Portuguese (pt)'],
] // biome-ignore format: read as a table

const enqueuing: Refused[] = [
  ['a kind for a job', ({ engine }) => engine.enqueue('mail', to), 'bad_option', 'defineJob'],
  ['a function for a job', ({ engine }) => engine.enqueue(run, to), 'bad_option', 'defineJob'],
  ['nothing at all', ({ engine }) => engine.enqueue(), 'bad_option', 'defineJob'],
  ['no input', ({ engine }) => engine.enqueue(mail), 'bad_input', 'expected object'],
  ['a field of another type', ({ engine }) => engine.enqueue(mail, { to: 5 }), 'bad_input', 'to: '],
  ['an input as JSON text', ({ engine }) => engine.enqueue(mail, JSON.stringify(to)), 'bad_input', 'expected object, received string'],
  ['a function in an input', ({ engine }) => engine.enqueue(anything, { done: run }), 'bad_input', 'input.done'],
  ['an instance of a class', ({ engine }) => engine.enqueue(anything, { order: new Order() }), 'bad_input', 'input.order'],
  ['an error as an input', ({ engine }) => engine.enqueue(anything, new Error('x')), 'bad_input', 'input'],
  ['a promise as an input', ({ engine }) => engine.enqueue(anything, Promise.resolve(1)), 'bad_input', 'input'],
  ['a symbol in an input', ({ engine }) => engine.enqueue(anything, [Symbol('x')]), 'bad_input', 'input[0]'],
  ['a circle', ({ engine }) => engine.enqueue(anything, circle), 'bad_input', 'input.inside.again'],
  ['a NUL character', ({ engine }) => engine.enqueue(anything, 'a\u0000b'), 'bad_input', 'NUL'],
  ['an input of 9 MB', ({ engine }) => engine.enqueue(anything, 'x'.repeat(9 * 1024 * 1024)), 'input_too_large', 'store it elsewhere and pass a reference'],
  ['jobId (BullMQ)', ({ engine }) => engine.enqueue(mail, to, { jobId: 'a' }), 'bad_option', 'did you mean "key"?'],
  ['jobKey (graphile-worker)', ({ engine }) => engine.enqueue(mail, to, { jobKey: 'a' }), 'bad_option', 'did you mean "key"?'],
  ['singletonKey (pg-boss)', ({ engine }) => engine.enqueue(mail, to, { singletonKey: 'a' }), 'bad_option', 'did you mean "key"?'],
  ['workflowID (DBOS)', ({ engine }) => engine.enqueue(mail, to, { workflowID: 'a' }), 'bad_option', 'did you mean "key"?'],
  ['idempotencyKey (Trigger.dev)', ({ engine }) => engine.enqueue(mail, to, { idempotencyKey: 'a' }), 'bad_option', 'did you mean "key"?'],
  ['unique (Oban)', ({ engine }) => engine.enqueue(mail, to, { unique: true }), 'bad_option', 'did you mean "key"?'],
  ['startAfter (pg-boss)', ({ engine }) => engine.enqueue(mail, to, { startAfter: 60 }), 'bad_option', 'did you mean "runAt"?'],
  ['scheduledAt (River)', ({ engine }) => engine.enqueue(mail, to, { scheduledAt: new Date() }), 'bad_option', 'did you mean "runAt"?'],
  ['schedule_in (Oban)', ({ engine }) => engine.enqueue(mail, to, { schedule_in: 60 }), 'bad_option', 'did you mean "delay"?'],
  ['repeat (BullMQ)', ({ engine }) => engine.enqueue(mail, to, { repeat: { every: 1000 } }), 'bad_option', 'defineSchedule('],
  ['removeOnFail (BullMQ)', ({ engine }) => engine.enqueue(mail, to, { removeOnFail: 5 }), 'bad_option', 'did you mean "retention"?'],
  ['attempts of one job (BullMQ)', ({ engine }) => engine.enqueue(mail, to, { attempts: 5 }), 'bad_option', 'did you mean "maxAttempts"?'],
  ['retryLimit of one job (pg-boss)', ({ engine }) => engine.enqueue(mail, to, { retryLimit: 5 }), 'bad_option', 'did you mean "maxAttempts"?'],
  ['no attempt of one job', ({ engine }) => engine.enqueue(mail, to, { maxAttempts: 0 }), 'bad_option', 'a whole number from 1, not 0'],
  ['a backoff of one job by type', ({ engine }) => engine.enqueue(mail, to, { backoff: { type: 'fixed', delay: 1 } }), 'bad_option', 'did you mean "factor"?'],
  ['a duration for a backoff', ({ engine }) => engine.enqueue(mail, to, { backoff: seconds(5) }), 'bad_option', 'backoff takes { first, factor, max, jitter }'],
  ['expireInSeconds of one job (pg-boss)', ({ engine }) => engine.enqueue(mail, to, { expireInSeconds: 60 }), 'bad_option', 'did you mean "timeout"?'],
  ['a timeout of one job as a text', ({ engine }) => engine.enqueue(mail, to, { timeout: '30s' }), 'bad_option', 'such as minutes(2)'],
  ['queueName of one job (graphile-worker)', ({ engine }) => engine.enqueue(mail, to, { queueName: 'bulk' }), 'bad_option', 'did you mean "queue"?'],
  ['a queue with a space', ({ engine }) => engine.enqueue(mail, to, { queue: 'my queue' }), 'bad_option', '1 to 100 letters'],
  ['a queue for an item of a list', ({ engine }) => engine.enqueueMany(mail, [to], { each: () => ({ queue: 'bulk' }) }), 'bad_option', 'give queue beside each'],
  ['attempts of an item of a batch', ({ engine }) => engine.submit(letters, [to], { each: () => ({ maxAttempts: 5 }) }), 'bad_option', 'submit(batch, list, { items: { maxAttempts } })'],
  ['attempts of a batch', ({ engine }) => engine.submit(letters, [to], { maxAttempts: 5 }), 'bad_option', 'items: { maxAttempts: 5 }'],
  ['retention of one job in days', ({ engine }) => engine.enqueue(mail, to, { retention: '7d' }), 'bad_option', 'such as days(90)'],
  ['lifo (BullMQ)', ({ engine }) => engine.enqueue(mail, to, { lifo: true }), 'bad_option', 'did you mean "priority"?'],
  ['concurrencyKey (Trigger.dev)', ({ engine }) => engine.enqueue(mail, to, { concurrencyKey: 'a' }), 'bad_option', 'did you mean "groupKey"?'],
  ['tags (Trigger.dev)', ({ engine }) => engine.enqueue(mail, to, { tags: ['a'] }), 'bad_option', 'did you mean "ref"?'],
  ['dependencies', ({ engine }) => engine.enqueue(mail, to, { dependsOn: ['1'] }), 'bad_option', 'ctx.step'],
  ['the payload as an option', ({ engine }) => engine.enqueue(anything, undefined, { payload: to }), 'bad_option', 'the second argument of enqueue(job, input)'],
  ['a misspelled option', ({ engine }) => engine.enqueue(mail, to, { prioritty: 1 }), 'bad_option', 'did you mean "priority"?'],
  ['a priority beyond 9', ({ engine }) => engine.enqueue(mail, to, { priority: 10 }), 'bad_option', 'from 0 (first) to 9'],
  ['a word for priority', ({ engine }) => engine.enqueue(mail, to, { priority: 'high' }), 'bad_option', 'from 0 (first) to 9, not "high"'],
  ['a delay as a text', ({ engine }) => engine.enqueue(mail, to, { delay: '5m' }), 'bad_option', 'such as minutes(5), not "5m"'],
  ['a date as a text', ({ engine }) => engine.enqueue(mail, to, { runAt: '2030-01-01' }), 'bad_option', 'a valid Date, not "2030-01-01"'],
  ['runAt and delay', ({ engine }) => engine.enqueue(mail, to, { runAt: new Date(), delay: seconds(1) }), 'bad_option', 'either runAt or delay'],
  ['a number for a key', ({ engine }) => engine.enqueue(mail, to, { key: 7 }), 'bad_option', 'a text of 1 to 500 characters'],
  ['an empty key', ({ engine }) => engine.enqueue(mail, to, { key: '' }), 'bad_option', 'a text of 1 to 500 characters'],
  ['keyUntil without a key', ({ engine }) => engine.enqueue(mail, to, { keyUntil: 'final' }), 'bad_option', 'it goes with key'],
  ['a pool for a transaction', ({ engine, pool }) => engine.enqueue(mail, to, { tx: pool }), 'bad_option', 'tx'],
  ['transaction for tx', ({ engine, pool }) => engine.enqueue(mail, to, { transaction: pool }), 'bad_option', 'did you mean "tx"?'],
  ['options that are none', ({ engine }) => engine.enqueue(mail, to, 'key'), 'bad_option', 'it is an object {'],
  ['one input for a list', ({ engine }) => engine.enqueueMany(mail, to), 'bad_option', 'an array, a generator'],
  ['a key for a whole list', ({ engine }) => engine.enqueueMany(mail, [to], { key: 'a' }), 'bad_option', 'each: input => ({ … })'],
  ['options of an item by a promise', ({ engine }) => engine.enqueueMany(mail, [to], { each: async () => ({}) }), 'bad_option', 'at once, such as { key }'],
  ['a wrong item of a list', ({ engine }) => engine.enqueueMany(mail, [to, { to: 5 }]), 'bad_input', 'item 1: to: '],
  ['a job for a batch', ({ engine }) => engine.submit(mail, [to]), 'bad_option', 'defineBatch'],
  ['the name of a batch', ({ engine }) => engine.submit('letters', [to]), 'bad_option', 'defineBatch'],
  ['a wrong item of a batch', ({ engine }) => engine.submit(letters, [{ to: 5 }]), 'bad_input', 'item 0: to: '],
] // biome-ignore format: read as a table

const reading: Refused[] = [
  ['a number for an id', ({ engine }) => engine.job(5), 'bad_option', 'it is a text, not 5'],
  ['an id for wait', ({ engine }) => engine.wait('1'), 'bad_option', '{ job, batch }'],
  ['nothing to wait for', ({ engine }) => engine.wait({}), 'bad_option', 'exactly one of job, batch'],
  ['timeout of wait', ({ engine }) => engine.wait({ job: '1' }, { timeout: 5 }), 'bad_option', 'AbortSignal.timeout(5000)'],
  ['a job that does not exist', ({ engine }) => engine.wait({ job: '999999' }), 'not_found', 'there is no job "999999"'],
  ['the wrong kind of a job', async ({ engine }) => engine.job((await engine.enqueue(mail, to)).id, anything), 'bad_option', 'is of kind "mail", not "anything"'],
  ['status for state', ({ engine }) => engine.jobs.list({ status: 'failed' }), 'bad_option', 'did you mean "state"?'],
  ['completed for succeeded', ({ engine }) => engine.jobs.list({ state: 'completed' }), 'bad_option', 'one of waiting, running'],
  ['offset for after', ({ engine }) => engine.jobs.list({ offset: 50 }), 'bad_option', 'did you mean "after"?'],
  ['a page of 1000', ({ engine }) => engine.jobs.list({ limit: 1000 }), 'bad_option', '500'],
  ['a bulk action without a filter', ({ engine }) => engine.jobs.cancelMany(), 'bad_option', 'it is an object {'],
  ['a bulk action with a missing value', ({ engine }) => engine.jobs.cancelMany({ kind: undefined }), 'bad_option', 'leave it out to mean any'],
  ['an erase without a filter', ({ engine }) => engine.jobs.eraseMany(), 'bad_option', 'it is an object {'],
  ['an erase of a whole engine', ({ engine }) => engine.jobs.eraseMany({}), 'bad_option', 'say at least one thing'],
  ['an erase of jobs that wait', ({ engine }) => engine.jobs.eraseMany({ state: 'waiting' }), 'bad_option', 'one of succeeded, failed, skipped, cancelled'],
  ['an erase with a misspelled filter', ({ engine }) => engine.jobs.eraseMany({ kinds: 'mail' }), 'bad_option', 'did you mean "kind"?'],
  ['a change of nothing', ({ engine }) => engine.jobs.update('1', {}), 'bad_option', 'give runAt, delay, priority or input'],
  ['data for input in a change (BullMQ)', ({ engine }) => engine.jobs.update('1', { data: to }), 'bad_option', 'did you mean "input"?'],
  ['a change of the attempts', ({ engine }) => engine.jobs.update('1', { attempts: 5 }), 'bad_option', 'there is no such option'],
  ['a change to an invalid input', async ({ engine }) => engine.jobs.update((await engine.enqueue(mail, to)).id, { input: { to: 5 } }), 'bad_input', 'to: '],
  ['a change of a job that has ended', async ({ engine }) => { const { id } = await engine.enqueue(mail, to); await engine.jobs.cancel(id); return engine.jobs.update(id, { priority: 0 }) }, 'wrong_state', 'update is not possible'],
  ['clear of a misspelled queue', ({ engine }) => engine.queues.clear('defalt'), 'not_found', 'there is no queue "defalt"'],
  ['skip without a reason', ({ engine }) => engine.jobs.skip('1'), 'bad_option', 'a text that says why'],
  ['resume of a job that waits', async ({ engine }) => engine.jobs.skip((await engine.enqueue(mail, to)).id, ''), 'bad_option', 'a text that says why'],
  ['a misspelled schedule', ({ engine }) => engine.schedules.run('nightli'), 'unknown_schedule', 'none is registered'],
  ['a misspelled queue', ({ engine }) => engine.queues.pause('defalt'), 'not_found', 'there is no queue "defalt"'],
  ['limits of a queue that has no jobs', ({ engine }) => engine.queues.setLimits('never', { concurrency: 1 }), 'not_found', 'there is no queue "never"'],
  ['an explanation of nothing', ({ engine }) => engine.explain({}), 'bad_option', 'exactly one of job, batch, queue'],
  ['a statement that is none', ({ engine }) => engine.query({}), 'bad_option', '{ text, values }'],
] // biome-ignore format: read as a table

const starting: Refused[] = [
  ['concurrency of a worker (BullMQ)', ({ engine }) => engine.work({ concurrency: 20 }), 'bad_option', 'did you mean "queues"?'],
  ['pollInterval (graphile-worker)', ({ engine }) => engine.work({ pollInterval: 1000 }), 'bad_option', 'PostgreSQL wakes the workers'],
  ['gracePeriod', ({ engine }) => engine.work({ gracePeriod: 1000 }), 'bad_option', 'did you mean "grace"?'],
  ['a list of queues', ({ engine }) => engine.work({ queues: ['mail'] }), 'bad_option', 'an object of queue names and numbers'],
  ['no slot of a queue', ({ engine }) => engine.work({ queues: { mail: 0 } }), 'bad_option', 'mail'],
  ['a handler file that is missing', ({ engine }) => withHandler(engine, './absent.mjs'), 'bad_definition', 'there is no handler that can be read at'],
  ['connectionString (pg)', () => createEngine({ connectionString: 'postgres://h/d' } as Wrong), 'bad_option', 'did you mean "databaseUrl"?'],
  ['redis (BullMQ)', () => createEngine({ redis: {} } as Wrong), 'bad_option', 'did you mean "databaseUrl"?'],
  ['max of a pool', () => createEngine({ max: 5 } as Wrong), 'bad_option', 'did you mean "connections"?'],
  ['taskList (graphile-worker)', () => createEngine({ taskList: {} } as Wrong), 'bad_option', 'did you mean "jobs"?'],
  ['an empty address', () => createEngine({ databaseUrl: '' }), 'bad_option', 'is a variable not set?'],
  ['an address of another database', () => createEngine({ databaseUrl: 'mysql://h/d' }), 'bad_option', 'postgres://'],
  ['a number for an address', () => createEngine({ databaseUrl: 5432 as Wrong }), 'bad_option', 'it is a text, not a number'],
  ['a database that does not exist', ({ url }) => createEngine({ databaseUrl: Object.assign(new URL(url), { pathname: '/no_such_database' }).href }), 'database_refused', 'database name in DATABASE_URL'],
  ['an object of jobs', () => createEngine({ jobs: { mail } as Wrong }), 'bad_option', 'it is a list'],
  ['a function among the jobs', () => createEngine({ jobs: [run as Wrong] }), 'bad_option', 'defineJob'],
  ['retention in days', () => createEngine({ retention: '30 days' as Wrong }), 'bad_option', 'days('],
  ['no connection', () => createEngine({ connections: 0 }), 'bad_option', 'from 1 to 1000'],
  ['a misspelled limit', ({ url }) => createEngine({ databaseUrl: url, limits: { mail: { concurency: 5 } as Wrong } }), 'bad_option', 'did you mean "concurrency"?'],
  ['a rate of BullMQ', ({ url }) => createEngine({ databaseUrl: url, limits: { mail: { rate: { max: 5, duration: 1000 } as Wrong } } }), 'bad_option', 'rate'],
  ['a webhook without an address', ({ url }) => createEngine({ databaseUrl: url, notify: { url: 'slack' } }), 'bad_option', 'notify.url'],
  ['an engine that is not awaited', ({ url }) => createApp(createEngine({ databaseUrl: url }) as Wrong), 'bad_option', 'await createEngine'],
  ['a route without a method', () => route({ path: '/x' } as Wrong), 'bad_definition', 'method'],
  ['a test engine with one job', () => testEngine({ job: mail } as Wrong), 'bad_option', 'did you mean "jobs"?'],
  ['enqueue on a closed engine', ({ closed }) => closed.enqueue(mail, to), 'engine_closed', 'closed'],
  ['work on a closed engine', ({ closed }) => closed.work(), 'engine_closed', 'closed'],
  ['events of a closed engine', ({ closed }) => closed.events(), 'engine_closed', 'closed'],
  ['a snooze in words', () => snooze('5m' as Wrong), 'bad_option', 'such as minutes(5)'],
  ['a provider wait as a text', () => providerWait({ retryAfter: '30s' as Wrong }), 'bad_option', 'such as seconds(30)'],
  ['a code that does not exist', () => Promise.reject(new RetomaError('sold_out' as Wrong, {})), 'bad_option', 'an error that defineErrors made'],
] // biome-ignore format: read as a table

const withHandler = async (engine: Engine, path: string) => {
  await engine.enqueue(defineJob({ kind: 'elsewhere', handler: new URL(path, import.meta.url) }))
  return engine.work()
}

type Accepted = [mistake: string, reason: string, call: (given: Given) => unknown]

const accepted: Accepted[] = [
  ['a delay in milliseconds', 'a duration is a number of milliseconds, as in BullMQ; the compiler asks for minutes(5)', ({ engine }) => engine.enqueue(mail, to, { delay: 5000 })],
  ['a date in the past', 'the job is ready at once', ({ engine }) => engine.enqueue(mail, to, { runAt: new Date(0) })],
  ['the same key twice', 'the second call returns the job of the first', async ({ engine }) => [await engine.enqueue(mail, to, { key: 'twice' }), await engine.enqueue(mail, to, { key: 'twice' })]],
  ['Date, Map, Set, bigint and bytes', 'the values come back as they were', ({ engine }) => engine.enqueue(anything, [new Date(0), new Map(), new Set(), 1n, new Uint8Array(1)])],
  ['undefined in an input', 'the value comes back as it was', ({ engine }) => engine.enqueue(anything, { a: undefined })],
  ['NaN and Infinity', 'the values come back as they were', ({ engine }) => engine.enqueue(anything, [Number.NaN, Number.POSITIVE_INFINITY])],
  ['a field that the schema does not know', 'the schema decides; zod leaves the field out', ({ engine }) => engine.enqueue(mail, { ...to, cc: 'x' })],
  ['a queue without a worker', 'a worker may start later; the watchdog reports the queue as starved', ({ engine }) => engine.enqueue(mail, to, { queue: 'later' })],
  ['an empty list', 'no job is created', ({ engine }) => engine.enqueueMany(mail, [])],
  ['an unknown id', 'the answer is null, so that a caller need not catch', ({ engine }) => engine.job('no-such')],
  ['cancel twice', 'the second call changes nothing, so that a caller may repeat', async ({ engine }) => { const { id } = await engine.enqueue(mail, to); await engine.jobs.cancel(id); return engine.jobs.cancel(id) }],
  ['a job that the engine was not given', 'enqueue registers the job', ({ engine }) => engine.enqueue(defineJob({ kind: 'unlisted', run }))],
  ['options that are undefined', 'an undefined option is left out', ({ engine }) => engine.enqueue(mail, to, { key: undefined, delay: undefined })],
  ['retention as a number', 'a duration is a number of milliseconds', () => days(30)],
  ['close twice', 'the second call is the first', ({ closed }) => closed.close()],
] // biome-ignore format: read as a table

/** Codes whose sentence quotes a schema or PostgreSQL, in English. */
const quoting = ['bad_input', 'database_refused']

let given: Given
let shared: TestEngine
let giveBack: () => Promise<void>

beforeAll(async () => {
  const database = await borrowDatabase()
  giveBack = database.giveBack
  shared = await testEngine({ jobs: [mail, anything], batches: [letters], databaseUrl: database.url })
  const closed = await createEngine({ databaseUrl: database.url, migrate: false })
  await closed.close()
  given = { engine: shared.engine, closed, url: database.url, pool: new pg.Pool({ connectionString: database.url }) }
})

afterAll(async () => {
  await given.pool.end()
  await shared.close()
  await giveBack()
})

test('the table has at least 80 mistakes, each once', () => {
  const mistakes = [...defining, ...enqueuing, ...reading, ...starting, ...accepted].map(([mistake]) => mistake)
  expect(mistakes.length).toBeGreaterThanOrEqual(80)
  expect(new Set(mistakes).size).toBe(mistakes.length)
})

test.each([...defining, ...enqueuing, ...reading, ...starting])('%s: refused with %s', async (_, call, code, fix) => {
  const error = await (async () => call(given))().catch((refusal: unknown) => refusal)
  expect(isRetomaError(error), String(error)).toBe(true)
  expect(error).toMatchObject({ code, message: expect.stringContaining(fix as string) })
  if (!quoting.includes(code)) expect(englishIn(error)).toEqual([])
})

test.each(accepted)('%s: accepted, because %s', async (_, __, call) => {
  await call(given)
})

test('nothing of a refused call is left behind', async () => {
  const { items } = await given.engine.jobs.list({ limit: 500 })
  expect(items.filter((each: { kind: string }) => each.kind === 'elsewhere')).toHaveLength(1)
})
