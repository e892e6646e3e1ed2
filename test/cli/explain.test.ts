/** `retoma explain` as a person types it, against a real database: sentence first, then what helps, then what to type. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestDatabase, type TestEngine, testEngine } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { newsletter, send } from '../support/explain.ts'
import { answer, folderWith, run } from './support.ts'

let database: TestDatabase
let here: TestEngine
let client: pg.Client
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  database = await migratedDatabase()
  here = await testEngine({ databaseUrl: database.url, jobs: [send], batches: [newsletter], start: new Date() })
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  folder = folderWith({}, 'file')
  env = { DATABASE_URL: database.url }
})

afterAll(async () => {
  await client.end()
  await here.close()
  await database.drop()
})

const retoma = (...args: string[]) => run(args, { folder, env })
const emPortugues = (...args: string[]) => run(args, { folder, env: { ...env, LANG: 'pt_BR.UTF-8' } })

/** Held by a worker whose loop is blocked by it. */
async function hung(): Promise<string> {
  const { id } = await here.engine.enqueue(send, { do: 'ok' })
  await client.query(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at, blocked_since, blocked_job, blocked_attempt, blocked_stack)
     values ('w-1', 'host-a', 4711, '0', '{"mail":2}', '{send}', now(), now(), now() - interval '12 seconds', $1, 1, $2)
     on conflict (id) do update set heartbeat_at = now(), blocked_job = excluded.blocked_job`,
    [id, `spin (/app/spin.js:3) < run (/app/job.js:9)`],
  )
  await client.query(
    `update retoma.job set state = 'running', attempt = 1, worker_id = 'w-1', started_at = now() where id = $1`,
    [id],
  )
  return id
}

test('a blocked loop: the sentence, the stack, and what to do; the id alone will do; both languages', async () => {
  const id = await hung()
  const { code, stdout } = await retoma('explain', 'job', id)
  expect(code).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.join(' ')).toMatch(
    new RegExp(`^job ${id} itself blocks the event loop of its worker "w-1", for 1\\d s;`),
  )
  expect(lines.every(line => line.length <= 80)).toBe(true)
  expect(stdout).toMatch(/^ {2}worker {3}w-1 on host-a, pid 4711, last heartbeat /m)
  expect(stdout).toMatch(/^ {2}blocked {2}for 1\d s, at\n {11}spin \(\/app\/spin\.js:3\)\n {11}run \(/m)
  expect(stdout.replaceAll('\n', ' ')).toContain('what to do: if it does not come free, kill process 4711 on "host-a"')
  expect((await retoma('explain', id)).stdout).toContain(`job ${id} itself blocks`)
  expect((await emPortugues('explain', 'job', id)).stdout).toMatch(/^o próprio job [\s\S]*\no que fazer: /)
})

test('--json is one document with snake_case names', async () => {
  const id = await hung()
  const reported = await answer(['explain', 'job', id], { folder, env })
  expect(reported).toMatchObject({
    verdict: 'hung',
    advice: { action: 'restart_worker', command: null },
    facts: { id, worker: { blocked_job: id, blocked_since: expect.any(String) }, policy: { stall_after: 300_000 } },
  })
  expect(Object.keys(reported)).toEqual(['verdict', 'sentence', 'advice', 'facts'])
})

test('a failed job shows its evidence, and an end that needs nothing shows no more than that', async () => {
  const { id } = await here.engine.enqueue(send, { do: 'for good' })
  const fine = (await here.engine.enqueue(send, { do: 'ok' })).id
  await here.run()
  await client.query(
    `update retoma.failure set failure_type = 'crash', evidence = '{"signal":"SIGSEGV","exitCode":null,"memoryBytes":62914560,"stderr":"first\\nlast words\\n"}' where job_id = $1`,
    [id],
  )
  const { stdout } = await retoma('explain', 'job', id)
  expect(stdout).toMatch(/^ {2}last failure {2}attempt 1, crash, .*: no such address$/m)
  expect(stdout).toMatch(
    /^ {2}evidence {6}signal SIGSEGV, memory 60 MB\n {16}the end of its stderr:\n {18}first\n {18}last words$/m,
  )
  expect(stdout).toMatch(new RegExp(`\\n {2}retoma jobs retry ${id}\\n$`))
  expect((await retoma('explain', fine)).stdout).toMatch(/^job \d+ succeeded .*\n\nwhat to do: nothing to do\n$/)
})

test('a batch and a queue; show has the sentence too', async () => {
  const { id } = await here.engine.submit(newsletter, [{ do: 'ok' }])
  await here.engine.batches.pause(id)
  const { stdout } = await retoma('explain', 'batch', id)
  expect(stdout).toBe(
    `batch ${id} was paused by a person\n\nwhat to do: resume it when it is time\n  retoma batch resume ${id}\n`,
  )
  expect((await retoma('explain', id)).stdout).toBe(stdout)
  expect((await retoma('batch', 'show', id)).stdout).toContain(`\n\nbatch ${id} was paused by a person\n\n`)
  const [item] = (await here.engine.jobs.list({})).items
  expect((await retoma('jobs', 'show', item!.id)).stdout).toContain(
    `\n\njob ${item!.id} waits because its batch ${id} is paused\n\n`,
  )
  expect((await retoma('explain', 'queue', 'mail')).stdout).toMatch(/^queue "mail" /)
})

test.each([
  [['explain', 'queue', 'mial'], 2, 'unknown_queue: there is no queue "mial"; did you mean "mail"?'],
  [['explain', 'mial'], 2, 'unknown_queue: there is no queue "mial"; did you mean "mail"?'],
  [['explain', '999999'], 1, 'not_found: there is no job, batch or queue "999999"'],
  [['explain', 'job', '999999'], 1, 'not_found: there is no job "999999"'],
  [['explain', 'jbo', '1'], 2, 'explain takes job, batch or queue before an id, not "jbo", did you mean "job"?'],
  [['explain', 'job'], 2, 'the argument ID is missing'],
  [['explain'], 2, 'the argument WHAT is missing'],
])('%j ends with %i and says why', async (args, code, problem) => {
  const ended = await retoma(...args)
  expect(ended.code).toBe(code)
  expect(ended.stderr).toContain(problem)
})
