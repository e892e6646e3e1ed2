/**
 * The mistakes that users make, many of them by the words of the library that they come from. A mistake is a RetomaError whose message
 * names the fix, or the engine accepts the call on purpose and the table gives the reason.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createApp, route, toNodeHandler } from '../../src/http/index.ts'
import {
  createEngine,
  days,
  defineBatch,
  defineErrors,
  defineGuard,
  defineJob,
  defineSchedule,
  doNotRetry,
  type Engine,
  isRetomaError,
  type JobContext,
  minutes,
  providerWait,
  RetomaError,
  seconds,
  skip,
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
  clock: Wrong
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
  ['no attempt at all', () => job({ kind: 'mail', run, maxAttempts: 0 }), 'bad_definition', 'a whole number from 1 to 1000000, not 0'],
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
  ['a kind and a function (BullMQ, pg-boss)', () => (defineJob as Wrong)('mail', run), 'bad_definition', 'one object with kind and run'],
  ['a backoff by a function', () => job({ kind: 'mail', run, backoff: (n: number) => n * 1000 }), 'bad_definition', 'backoff takes { first, factor, max, jitter }'],
  ['a list for a backoff', () => job({ kind: 'mail', run, backoff: [1000, 2000] }), 'bad_definition', 'backoff takes { first, factor, max, jitter }'],
  ['a factor below one', () => job({ kind: 'mail', run, backoff: { factor: 0.5 } }), 'bad_definition', 'backoff.factor must be from 1 to 100'],
  ['endless attempts', () => job({ kind: 'mail', run, maxAttempts: Number.POSITIVE_INFINITY }), 'bad_definition', 'from 1 to 1000000, not Infinity'],
  ['a version as a text', () => job({ kind: 'mail', run, version: '2' }), 'bad_definition', 'a whole number from 1, not "2"'],
  ['an oldest version above the version', () => job({ kind: 'mail', run, oldestVersion: 2 }), 'bad_definition', 'from 1 to its version, 1, not 2'],
  ['deadLetter (pg-boss)', () => job({ kind: 'mail', run, deadLetter: 'dead' }), 'bad_definition', "engine.jobs.list({ state: 'failed' })"],
  ['debounce (Trigger.dev)', () => job({ kind: 'mail', run, debounce: 1000 }), 'bad_definition', 'engine.jobs.update(id, { runAt })'],
  ['rate of a job', () => job({ kind: 'mail', run, rate: { limit: 1, per: seconds(1) } }), 'bad_definition', 'createEngine({ limits:'],
  ['a schema of the result', () => job({ kind: 'mail', run, output: z.string() }), 'bad_definition', 'the type of what run returns'],
  ['a verdict that does not exist', () => job({ kind: 'mail', run, onOrphan: 'ignore' }), 'bad_definition', 'one of retry, stall, fail, not "ignore"'],
  ['a handler on the web', () => job({ kind: 'mail', handler: new URL('https://example.com/mail.js') }), 'bad_definition', 'the URL of a file'],
  ['an interval as a text', () => schedule({ name: 'nightly', job: anything, every: '5m' }), 'bad_definition', 'such as minutes(5), not "5m"'],
  ['an interval below a second', () => schedule({ name: 'nightly', job: anything, every: 100 }), 'bad_definition', 'from 1 second'],
  ['a day that never comes', () => schedule({ name: 'nightly', job: anything, cron: '0 0 30 2 *' }), 'bad_definition', 'it names no instant at all'],
  ['a minute that does not exist', () => schedule({ name: 'nightly', job: anything, cron: '61 4 * * *' }), 'bad_definition', 'minute: 61'],
  ['data of a schedule (pg-boss)', () => schedule({ name: 'nightly', job: anything, cron: '0 4 * * *', data: {} }), 'bad_definition', 'did you mean "input"?'],
  ['immediately (BullMQ)', () => schedule({ name: 'nightly', job: anything, cron: '0 4 * * *', immediately: true }), 'bad_definition', 'engine.schedules.run(name)'],
  ['a schedule without the input of its job', ({ url }) => createEngine({ databaseUrl: url, schedules: [schedule({ name: 'nightly', job: mail, cron: '0 4 * * *' }) as Wrong] }), 'bad_definition', 'expected object'],
  ['jobs of a batch', () => defineBatch({ name: 'letters', jobs: [mail] } as Wrong), 'bad_definition', 'did you mean "job"?'],
  ['the weight of a definition', () => defineBatch({ name: 'letters', job: mail, weight: 3 } as Wrong), 'bad_definition', 'submit(batch, list, { weight: 3 })'],
  ['a number for stopAfter', () => defineBatch({ name: 'letters', job: mail, stopAfter: 5 as Wrong }), 'bad_definition', 'stopAfter takes { failures, percent, sameCause }'],
  ['a guard over a table of the engine', () => defineGuard({ name: 'lost', table: 'retoma.job', status: { column: 'state', running: 'running' }, signal: 'created_at', after: minutes(1), set: { state: 'failed' } }), 'bad_definition', 'the tables of Retoma are not guarded'],
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
  ['no attempt of one job', ({ engine }) => engine.enqueue(mail, to, { maxAttempts: 0 }), 'bad_option', 'a whole number from 1 to 1000000, not 0'],
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
  ['a client that is not connected', ({ engine, url }) => engine.enqueue(mail, to, { tx: new pg.Client({ connectionString: url }) }), 'bad_option', 'await client.connect()'],
  ['an address for a transaction', ({ engine, url }) => engine.enqueue(mail, to, { tx: url }), 'bad_option', 'a client of pg, or the transaction of'],
  ['db (pg-boss)', ({ engine, pool }) => engine.enqueue(mail, to, { db: pool }), 'bad_option', 'did you mean "tx"?'],
  ['a number for a date', ({ engine }) => engine.enqueue(mail, to, { runAt: Date.now() }), 'bad_option', 'a valid Date'],
  ['a delay of NaN', ({ engine }) => engine.enqueue(mail, to, { delay: Number.NaN }), 'bad_option', 'such as minutes(5), not NaN'],
  ['a request as an input', ({ engine }) => engine.enqueue(anything, { request: new Request('http://localhost/') }), 'bad_input', 'input.request is an instance of Request'],
  ['half of a character', ({ engine }) => engine.enqueue(anything, '\ud800'), 'bad_input', 'surrogate'],
  ['a field that throws', ({ engine }) => engine.enqueue(anything, { get name() { throw new Error('no') } }), 'bad_input', 'input.name cannot be read'],
  ['a field for the ref of an item', ({ engine }) => engine.submit(letters, [to], { ref: 'to' }), 'bad_option', 'a function of an item'],
  ['an object for the items of a batch', ({ engine }) => engine.submit(letters, { a: to }), 'bad_option', 'an array, a generator'],
] // biome-ignore format: read as a table

const reading: Refused[] = [
  ['a number for an id', ({ engine }) => engine.job(5), 'bad_option', 'it is a text, not 5'],
  ['an id for wait', ({ engine }) => engine.wait('1'), 'bad_option', '{ job, batch }'],
  ['nothing to wait for', ({ engine }) => engine.wait({}), 'bad_option', 'exactly one of job, batch'],
  ['timeout of wait', ({ engine }) => engine.wait({ job: '1' }, { timeout: 5 }), 'bad_option', 'AbortSignal.timeout(5000)'],
  ['a job that does not exist', ({ engine }) => engine.wait({ job: '999999' }), 'not_found', 'there is no job "999999"'],
  ['the wrong kind of a job', async ({ engine }) => engine.job((await engine.enqueue(mail, to)).id, anything), 'bad_option', 'is of kind "mail", not "anything"'],
  ['status for state', ({ engine }) => engine.jobs.list({ status: 'failed' }), 'bad_option', 'did you mean "state"?'],
  ['completed for succeeded', ({ engine }) => engine.jobs.list({ state: 'completed' }), 'bad_option', 'it is "succeeded" here, one of waiting, running'],
  ['offset for after', ({ engine }) => engine.jobs.list({ offset: 50 }), 'bad_option', 'did you mean "after"?'],
  ['a page of 1000', ({ engine }) => engine.jobs.list({ limit: 1000 }), 'bad_option', '500'],
  ['a bulk action without a filter', ({ engine }) => engine.jobs.cancelMany(), 'bad_option', 'it is an object {'],
  ['a bulk action with a missing value', ({ engine }) => engine.jobs.cancelMany({ kind: undefined }), 'bad_option', 'leave it out to mean any'],
  ['an erase without a filter', ({ engine }) => engine.jobs.eraseMany(), 'bad_option', 'it is an object {'],
  ['an erase of a whole engine', ({ engine }) => engine.jobs.eraseMany({}), 'bad_option', 'at least one of kind, queue'],
  ['an erase of jobs that wait', ({ engine }) => engine.jobs.eraseMany({ state: 'waiting' }), 'bad_option', 'one of succeeded, failed, skipped, cancelled'],
  ['an erase with a misspelled filter', ({ engine }) => engine.jobs.eraseMany({ kinds: 'mail' }), 'bad_option', 'did you mean "kind"?'],
  ['a change of nothing', ({ engine }) => engine.jobs.update('1', {}), 'bad_option', 'give runAt, delay, priority or input'],
  ['data for input in a change (BullMQ)', ({ engine }) => engine.jobs.update('1', { data: to }), 'bad_option', 'did you mean "input"?'],
  ['a change of the attempts', ({ engine }) => engine.jobs.update('1', { attempts: 5 }), 'bad_option', 'there is no such option'],
  ['a change to an invalid input', async ({ engine }) => engine.jobs.update((await engine.enqueue(mail, to)).id, { input: { to: 5 } }), 'bad_input', 'to: '],
  ['a change of a job that has ended', async ({ engine }) => { const { id } = await engine.enqueue(mail, to); await engine.jobs.cancel(id); return engine.jobs.update(id, { priority: 0 }) }, 'wrong_state', 'update is not possible'],
  ['clear of a misspelled queue', ({ engine }) => engine.queues.clear('defalt'), 'not_found', 'there is no queue "defalt"'],
  ['skip without a reason', ({ engine }) => engine.jobs.skip('1'), 'bad_option', 'a text that says why'],
  ['skip with an empty reason', async ({ engine }) => engine.jobs.skip((await engine.enqueue(mail, to)).id, ''), 'bad_option', 'a text that says why'],
  ['a misspelled schedule', ({ engine }) => engine.schedules.run('nightli'), 'unknown_schedule', 'none is registered'],
  ['a misspelled queue', ({ engine }) => engine.queues.pause('defalt'), 'not_found', 'there is no queue "defalt"'],
  ['limits of a queue that has no jobs', ({ engine }) => engine.queues.setLimits('never', { concurrency: 1 }), 'not_found', 'there is no queue "never"'],
  ['an explanation of nothing', ({ engine }) => engine.explain({}), 'bad_option', 'exactly one of job, batch, queue'],
  ['a statement that is none', ({ engine }) => engine.query({}), 'bad_option', '{ text, values }'],
  ['a handle for an id', async ({ engine }) => engine.job(await engine.enqueue(anything, 1)), 'bad_option', 'give its id'],
  ['the id of a batch for a job', async ({ engine }) => engine.jobs.cancel((await engine.submit(letters, [to])).id), 'not_found', 'there is no job'],
  ['retry of a job that waits for nobody', async ({ engine }) => engine.jobs.retry('987654'), 'not_found', 'there is no job "987654"'],
  ['a cause that failures() does not name', async ({ engine }) => engine.batches.retryFailed((await engine.submit(letters, [to])).id, { cause: 'smtp down' }), 'bad_option', 'a cause as failures() names it'],
  ['a number for the limits of a group', ({ engine }) => engine.queues.setLimits('default', { perGroup: { 'tenant-7': 10 } }), 'bad_option', "'tenant-7': { concurrency: 10 }"],
  ['a number for a rate', ({ engine }) => engine.queues.setLimits('default', { rate: 10 }), 'bad_option', 'such as { limit: 10, per: seconds(1) }'],
  ['weights without turns', ({ engine }) => engine.queues.setLimits('default', { weights: { a: 2 } }), 'bad_option', "fair: 'group'"],
  ['true for turns', ({ engine }) => engine.queues.setLimits('default', { fair: true }), 'bad_option', "'group' or 'batch', not true"],
  ['a limit as a text', ({ engine }) => engine.queues.setLimits('default', { concurrency: '5' }), 'bad_option', 'not "5"'],
  ['key of a rate limit', ({ engine }) => engine.limit({ key: 'ana', limit: 1, per: minutes(1) }), 'bad_option', 'did you mean "who"?'],
  ['a template for a statement', ({ engine }) => engine.query`select 1`, 'bad_option', '{ text, values }'],
  ['a path for a file', ({ engine }) => engine.files.put('/etc/hosts'), 'bad_option', 'createReadStream(path)'],
  ['a role that does not exist', ({ engine }) => engine.tokens.create({ user: 'ana', role: 'root' }), 'bad_option', 'viewer, operator, admin'],
] // biome-ignore format: read as a table

const hello = {
  method: 'get',
  path: '/hello',
  name: 'hello',
  tag: 'hello',
  summary: 'Greets',
  role: 'viewer',
  run,
} as const

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
  ['a job and a function for work (pg-boss)', ({ engine }) => engine.work(mail, run), 'bad_option', 'defineJob({ run })'],
  ['a queue for work (pg-boss)', ({ engine }) => engine.work('mail'), 'bad_option', '{ queues, grace'],
  ['processes of engine.work', ({ engine }) => engine.work({ processes: 4 }), 'bad_option', 'retoma worker --processes 4'],
  ['a grace as a text', ({ engine }) => engine.work({ grace: '5s' }), 'bad_option', 'such as seconds(5), not "5s"'],
  ['names for signals', ({ engine }) => engine.work({ signals: ['SIGTERM'] }), 'bad_option', 'true or false'],
  ['maxMs as a text', ({ engine }) => engine.runUntilEmpty({ maxMs: '20s' }), 'bad_option', 'such as seconds(20), not "20s"'],
  ['max for maxMs', ({ engine }) => engine.runUntilEmpty({ max: 100 }), 'bad_option', 'did you mean "maxMs"?'],
  ['a pool and an address', ({ url, pool }) => createEngine({ databaseUrl: url, pool }), 'bad_option', 'give one of databaseUrl, connection and pool'],
  ['options of a pool for a pool', () => createEngine({ pool: { max: 5 } as Wrong }), 'bad_option', 'new pg.Pool('],
  ['a client for a pool', ({ url }) => createEngine({ pool: new pg.Client({ connectionString: url }) as Wrong }), 'bad_option', 'new pg.Pool('],
  ['an address for a connection', ({ url }) => createEngine({ connection: url as Wrong }), 'bad_option', 'a connection string is databaseUrl'],
  ['hostname of a connection', () => createEngine({ connection: { hostname: 'db' } as Wrong }), 'bad_option', 'did you mean "host"?'],
  ['username of a connection', () => createEngine({ connection: { host: 'db', username: 'app' } as Wrong }), 'bad_option', 'did you mean "user"?'],
  ['the schema public', ({ url }) => createEngine({ databaseUrl: url, schema: 'public' }), 'bad_option', 'lower-case letters'],
  ['logger for log', ({ url }) => createEngine({ databaseUrl: url, logger: console } as Wrong), 'bad_option', 'did you mean "log"?'],
  ['a level for log', ({ url }) => createEngine({ databaseUrl: url, log: 'debug' as Wrong }), 'bad_option', 'LOG_LEVEL'],
  ['limits without a queue', ({ url }) => createEngine({ databaseUrl: url, limits: { concurrency: 5 } as Wrong }), 'bad_option', 'by the name of a queue'],
  ['one job for the jobs', ({ url }) => createEngine({ databaseUrl: url, jobs: mail as Wrong }), 'bad_option', 'it is a list, such as [job]'],
  ['a batch among the jobs', ({ url }) => createEngine({ databaseUrl: url, jobs: [letters as Wrong] }), 'bad_option', 'a batch goes to batches'],
  ['a list for the options of a test', () => testEngine([mail] as Wrong), 'bad_option', 'it is an object { jobs'],
  ['prefix for basePath', ({ engine }) => createApp(engine, { prefix: '/jobs' } as Wrong), 'bad_option', 'did you mean "basePath"?'],
  ['auth for who', ({ engine }) => createApp(engine, { auth: run } as Wrong), 'bad_option', 'did you mean "who"?'],
  ['a user for who', ({ engine }) => createApp(engine, { who: { user: 'ana', role: 'admin' } as Wrong }), 'bad_option', 'a function of the request'],
  ['routes that are no list', ({ engine }) => createApp(engine, { routes: {} as Wrong }), 'bad_option', 'a list of routes'],
  ['an engine for an app', ({ engine }) => toNodeHandler(engine), 'bad_option', 'createApp(engine)'],
  ['a path without a slash', () => route({ ...hello, path: 'hello' }), 'bad_definition', 'such as /orders/{id}'],
  ['a parameter of Express', () => route({ ...hello, path: '/hello/:name' }), 'bad_definition', '/hello/{name}'],
  ['a method in capitals', () => route({ ...hello, method: 'GET' as Wrong }), 'bad_definition', 'one of get, post, put, patch, delete'],
  ['a role of a route that does not exist', () => route({ ...hello, role: 'user' as Wrong }), 'bad_definition', 'one of viewer, operator, admin, open, cron'],
  ['a handler of a route', () => route({ ...hello, run: undefined, handler: run } as Wrong), 'bad_definition', 'it needs method, path and run'],
  ['a time for the virtual clock as a text', ({ clock }) => clock.advance('5m'), 'bad_option', 'such as minutes(5)'],
] // biome-ignore format: read as a table

/** Mistakes inside a handler: the job fails with the message. */
const handling: [mistake: string, run: (ctx: JobContext & Wrong) => unknown, fix: string][] = [
  ['a step without a name', ctx => ctx.step(() => 1), "a step's name is a text"],
  ['a step without a function', ctx => ctx.step('read'), 'it is a function, not undefined'],
  ['a value for a step', ctx => ctx.step('read', 5), 'it is a function, not 5'],
  ['a transaction without a function', ctx => ctx.transaction('save'), 'it is a function'],
  ['a list without a function', ctx => ctx.each('all', [1]), 'it is a function'],
  ['a list without a name', ctx => ctx.each([1], run), "a step's name is a text"],
  ['a provider without a function', ctx => ctx.provider('smtp'), 'it is a function'],
  ['two steps of one name', async ctx => [await ctx.step('a', run), await ctx.step('a', run)], 'two steps of one job are named "a"'],
  ['retries of a step', ctx => ctx.step('read', run, { retries: 3 }), 'did you mean "maxAttempts"?'],
  ['a step that is not awaited', ctx => void ctx.step('read', run), 'await each of them'],
  ['a step that returns a function', ctx => ctx.step('read', () => run), 'the result of step "read" cannot be stored'],
  ['sleep without a name', ctx => ctx.sleep(minutes(5)), 'such as minutes(5)'],
  ['a number for progress (BullMQ)', ctx => ctx.progress(50), '{ done, total, note }'],
  ['a function for ctx.isolated', ctx => ctx.isolated('read', run), "new URL('./read.js', import.meta.url)"],
  ['commit in a transaction', ctx => ctx.transaction('save', (tx: Wrong) => tx.query('commit')), 'leave out begin, commit and rollback'],
  ['a thrown skip', () => { throw skip('nothing to do') }, 'return skip('],
  ['a thrown snooze', () => { throw snooze(minutes(1)) }, 'return snooze('],
  ['a returned error', () => new Error('no'), 'throw the error'],
  ['a returned doNotRetry', () => doNotRetry('no such account'), 'throw the error'],
  ['a returned function', () => run, 'result is a function'],
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
  ['retention as a number', 'a duration is a number of milliseconds', ({ engine }) => engine.enqueue(mail, to, { retention: 86_400_000 })],
  ['close twice', 'the second call is the first', ({ closed }) => closed.close()],
  ['@daily for a cron', 'croner knows the words of crontab', () => schedule({ name: 'daily', job: anything, cron: '@daily' })],
  ['a client outside of a transaction', 'each statement commits by itself, as every other statement of this client', async ({ engine, pool }) => { const client = await pool.connect(); try { return await engine.enqueue(mail, to, { tx: client }) } finally { client.release() } }],
  ['a batch without items', 'the batch ends at once', ({ engine }) => engine.submit(letters, [])],
  ['a slash at the end of basePath', 'the path is the same', ({ engine }) => createApp(engine, { basePath: '/jobs/' })],
  ['console for log', 'console has the four methods', async ({ url }) => (await createEngine({ databaseUrl: url, log: { ...console, info: run, warn: run } as Wrong })).close()],
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
  given = {
    engine: shared.engine,
    closed,
    url: database.url,
    pool: new pg.Pool({ connectionString: database.url }),
    clock: shared.clock,
  }
})

afterAll(async () => {
  await given.pool.end()
  await shared.close()
  await giveBack()
})

test('the table has at least 280 mistakes, each once', () => {
  const mistakes = [...defining, ...enqueuing, ...reading, ...starting, ...handling, ...accepted].map(
    ([mistake]) => mistake,
  )
  expect(mistakes.length).toBeGreaterThanOrEqual(280)
  expect(new Set(mistakes).size).toBe(mistakes.length)
})

async function jobsCreated(): Promise<number> {
  const { rows } = await given.engine.query('select count(*)::int as n from retoma.job')
  return rows[0].n
}

test.each([...defining, ...enqueuing, ...reading, ...starting])(
  '%s: refused with %s, and creates no job',
  async (_, call, code, fix) => {
    const before = await jobsCreated()
    const error = await (async () => call(given))().catch((refusal: unknown) => refusal)
    expect(isRetomaError(error), String(error)).toBe(true)
    expect(error).toMatchObject({ code, message: expect.stringContaining(fix as string) })
    if (!quoting.includes(code)) expect(englishIn(error)).toEqual([])
    // A call of the table that enqueues a job first, to make a mistake with the job, leaves this job.
    if (!/await engine\.|withHandler/.test(String(call))) expect(await jobsCreated()).toBe(before)
  },
)

test('mistakes inside a handler fail the job with a message that names the fix', async () => {
  const jobs = handling.map(([, run], n) => defineJob({ kind: `handles-${n}`, maxAttempts: 1, run }))
  await using own = await testEngine({ jobs, databaseUrl: given.url })
  const handles = await Promise.all(jobs.map(each => own.engine.enqueue(each, undefined)))
  await own.run()
  for (const [n, [mistake, , fix]] of handling.entries()) {
    const { state, error } = (await own.engine.job(handles[n]!.id))!
    expect({ mistake, state, message: error?.message }).toEqual({
      mistake,
      state: 'failed',
      message: expect.stringContaining(fix),
    })
  }
})

test.each(accepted)('%s: accepted, because %s', async (_, __, call) => {
  await call(given)
})
