/**
 * The statistics of PostgreSQL describe a table at its last analyze. With any such statistics no statement of the engine scans a growing
 * table or compares each job with every other job: docs/adr/0005-plans.md.
 */
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Statement } from '../../src/database/db.ts'
import { forSession } from '../../src/database/session-settings.ts'
import { migratedDatabase } from '../support/database.ts'
import { everyStatement } from '../support/statements.ts'

/** They grow with all that was ever done. */
const growing = [
  'job', 'batch', 'batch_chunk', 'batch_count', 'batch_cost', 'event', 'checkpoint', 'failure', 'job_log', 'job_cost', 'queue_history', 'file', 'file_chunk',
  'document', 'purchase', 'documents', 'bank_transaction', 'bank_sync',
] // biome-ignore format: a list
/** Indexes that a statement may read as a whole: the indexes contain only live rows, and their readers need all rows. */
const live = [
  'job_running', 'job_stalled', 'job_ready', 'job_limited', 'batch_claims_blocked', 'batch_open', 'event_without_seq',
  'documents_processing', 'documents_open',
] // biome-ignore format: a list

const id = `nextval('retoma.job_id_seq')`
const fill = (count: number, state: 'succeeded' | 'running') => `
  insert into retoma.batch (id, name, kind, queue, policy, priority, created_at)
    select ${id}, 'b', 'k', 'q', '{}', 4, now() from generate_series(1, ${count});
  insert into retoma.batch_chunk (batch_id, n, first_id, last_id, items) select id, 0, id, id, 1 from retoma.batch on conflict do nothing;
  insert into retoma.batch_count (batch_id, shard) select id, 0 from retoma.batch on conflict do nothing;
  insert into retoma.job (queue, kind, state, claim_rank, run_at, input, attempt, worker_id, created_at, finished_at)
    select 'q', 'k', '${state}', 9, now(), '{}', 1, ${state === 'running' ? `'w', now(), null` : 'null, now(), now()'}
    from generate_series(1, ${count});
  insert into retoma.failure (job_id, attempt, failure_type, message, at) select id, 1, 'error', '', now() from retoma.job on conflict do nothing;
  insert into retoma.checkpoint (job_id, name, attempt, value, at) select id, 's', 1, '1', now() from retoma.job on conflict do nothing;
  insert into retoma.job_log (job_id, attempt, line_count, lines, at) select id, 1, 1, '[]', now() from retoma.job on conflict do nothing;
  insert into retoma.job_cost (job_id, attempt, currency, amount, last_call) select id, 1, 'USD', 1, 1 from retoma.job on conflict do nothing;
  insert into retoma.batch_cost (batch_id, shard, currency, amount) select id, 0, 'USD', 1 from retoma.batch on conflict do nothing;
  insert into retoma.queue_history (queue, seconds, at, started, succeeded, skipped, failed, retried, deferred, duration_ms, waiting_ms, durations, waitings)
    select 'q', 60, now() - n * interval '1 minute', 0, 0, 0, 0, 0, 0, 0, 0, '{}', '{}' from generate_series(1, ${count}) n on conflict do nothing;
  insert into retoma.event (at, type, job_id, data, seq) select now(), 'state', id, '{}', ${id} from retoma.job;
  insert into retoma.file (name, type, size, job_id, created_at) select 'n', 't', 1, id, now() from retoma.job;
  insert into retoma.file_chunk (file_id, n, bytes) select id, 0, '' from retoma.file on conflict do nothing;
  insert into retoma.queue (name) select 'q' || ${id} from generate_series(1, ${count} / 10);
  insert into retoma.limit_counter (queue, group_key, used_at) select 'q', 'g' || ${id}, now() from generate_series(1, ${count} / 10);
  insert into classifier.project (name, categories, created_at, updated_at) values ('p', '{}', now(), now());
  insert into classifier.run (project_id, settings, settings_hash, total, batch_id, created_by, created_at)
    select (select max(id) from classifier.project), '{}', '', 1, ${id}, 'u', now() from generate_series(0, ${count} / 10);
  insert into classifier.document (run_id, n, code, hash, job_id)
    select id, n, 'c' || n, '', ${id} from classifier.run, generate_series(1, 10) n on conflict do nothing;
  insert into documents.documents (id, user_id, filename, size, sha256, file_id, status, job_id, search, created_at, updated_at)
    select gen_random_uuid(), 'u' || n % 10, 'f', 1, '', 1, '${state === 'running' ? 'PROCESSING' : 'DONE'}', ${id}, 'a b', now(), now()
    from generate_series(1, ${count}) n;
  insert into documents.bank_item (id, user_id, status, checked_at, simulated, created_at)
    select 'i' || n, 'u' || n, 'UPDATED', now(), false, now() from generate_series(0, 9) n on conflict do nothing;
  insert into documents.bank_account (item_id, id, user_id, name, type, currency, balance, balance_at, simulated, created_at, window_from, sync_id, is_read)
    select id, 'a', user_id, 'n', 'BANK', 'BRL', 0, now(), false, now(), now(), gen_random_uuid(), true from documents.bank_item on conflict do nothing;
  insert into documents.bank_transaction (item_id, account_id, id, user_id, occurred_at, day, description, amount, currency, type, status, sync_id, created_at, updated_at)
    select 'i' || n % 10, 'a', ${id}, 'u' || n % 10, now(), current_date - n % 700, 'd', 1, 'BRL', 'CREDIT', 'POSTED', gen_random_uuid(), now(), now()
    from generate_series(1, ${count}) n;
  insert into documents.bank_sync (id, user_id, job_id, simulated, created_at)
    select gen_random_uuid(), 'u' || n % 10, ${id}, false, now() from generate_series(1, ${count}) n;`

const ofClassifier = ['purchase', 'document', 'run']
const schemaOf = (table: string) =>
  ofClassifier.includes(table) ? 'classifier' : /^(?:documents$|bank_)/.test(table) ? 'documents' : 'retoma'
const placeOf = (table: string) => `${schemaOf(table)}.${table}`
const filled = [...growing, 'run', 'queue', 'limit_counter', 'bank_account', 'bank_item']
const empty = [...ofClassifier, 'file', ...filled].map(table => `delete from ${placeOf(table)};`).join(' ')

/** The rows of the tables at the analyze, and now. */
const believed = {
  'one of each, in what thousands have left behind': `${fill(2000, 'succeeded')} ${empty} ${fill(1, 'succeeded')} analyze; ${fill(2000, 'running')}`,
  'none, in what thousands have left behind': `${fill(2000, 'succeeded')} ${empty} analyze; ${fill(2000, 'running')}`,
  'none, on the first day': `analyze; ${fill(2000, 'running')}`,
  'thousands, all finished': `${fill(5000, 'succeeded')} analyze; ${fill(500, 'running')}`,
  'nothing yet': fill(2000, 'running'),
}

interface Plan {
  'Node Type': string
  'Parent Relationship'?: string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'TID Cond'?: string
  'Join Filter'?: string
  Plans?: Plan[]
}

const inputs = (plan: Plan): Plan[] =>
  (plan.Plans ?? []).filter(each => !/^(InitPlan|SubPlan)$/.test(each['Parent Relationship'] ?? ''))

const isBound = (plan: Plan): boolean =>
  plan['Index Cond'] !== undefined || plan['TID Cond'] !== undefined || inputs(plan).some(isBound)

/** Goes through a growing table from end to end. The first of an index is not all of it. */
function wholes(plan: Plan, isFirst = false): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '' } = plan
  const isWhole =
    (type === 'Seq Scan' && growing.includes(table)) ||
    (/^(Index|Bitmap Index)/.test(type) &&
      plan['Index Cond'] === undefined &&
      !live.includes(index) &&
      growing.some(each => table === each || (table === '' && index.startsWith(`${each}_`))))
  const below = plan.Plans ?? []
  return [
    ...(isWhole && !isFirst ? [`${type} ${index || table}`] : []),
    ...below.flatMap(each => wholes(each, type === 'Limit' && below.length === 1)),
  ]
}

/** Compares by their ids each of some with each of some others. */
function pairs(plan: Plan): string[] {
  const [, inner] = inputs(plan)
  const filter = plan['Join Filter'] ?? ''
  const isPair =
    plan['Node Type'] === 'Nested Loop' &&
    inner !== undefined &&
    !isBound(inner) &&
    /\w\.id = (ANY \(ARRAY\[)?\w+\.(id|job_id)\b/.test(filter)
  return [...(isPair ? [filter] : []), ...(plan.Plans ?? []).flatMap(pairs)]
}

async function clientWith(sql: string): Promise<pg.Client> {
  const database = await migratedDatabase('with systems')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await database.drop()
  })
  // Nobody else looks meanwhile.
  for (const table of filled) await client.query(`alter table ${placeOf(table)} set (autovacuum_enabled = off)`)
  // Nor does anybody check what refers to what, which would take most of the time.
  await client.query(`set session_replication_role = replica; ${sql}; reset session_replication_role`)
  await client.query(forSession)
  return client
}

/** The generic plan of the statement. Sent in one message, because there are hundreds of statements. */
async function planOf(client: pg.Client, { text }: Statement): Promise<Plan> {
  const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)/g), ([, place]) => Number(place)))
  const values = count > 0 ? `(${Array(count).fill('null').join()})` : ''
  const answers = await client.query(`prepare it as ${text}; explain (format json) execute it${values}; deallocate it`)
  return (answers as unknown as pg.QueryResult[])[1]!.rows[0]['QUERY PLAN'][0].Plan
}

const wrongIn = (plan: Plan): string[] => [...wholes(plan), ...pairs(plan)]

test('one that did would be found', async () => {
  const client = await clientWith(believed['none, in what thousands have left behind'])
  const careless = {
    name: 'careless',
    text: `
      with given as materialized (select * from unnest((select $1::bigint[]), (select $2::int[])) as g (id, attempt))
      update retoma.job j set progress = null from given g where j.id = g.id and j.attempt = g.attempt`,
  }
  expect(wrongIn(await planOf(client, careless))).toEqual(['Index Scan job_pkey', expect.stringContaining('.id')])
  const careful = { ...careless, text: careless.text.replace('= g.id', '= any (array[g.id])') }
  expect(wrongIn(await planOf(client, careful))).toEqual([])
})

describe('whatever PostgreSQL believes the tables hold', () => {
  let statements: Statement[]
  beforeAll(async () => {
    statements = await everyStatement()
  })

  test('every statement is looked at', () => {
    const names = statements.map(each => each.name)
    for (const one of [
      'settle',
      'claim_limited',
      'crashed_worker_recover',
      'late_attempt_end_hung',
      'event_page_job_id',
      'classifier runs.noteJobs',
    ])
      expect(names).toContain(one)
    expect(names.length).toBeGreaterThan(200)
  })

  test.each(Object.entries(believed))(
    '%s: none reads a growing table whole, or compares each with each',
    async (_, sql) => {
      const client = await clientWith(sql)
      const found: Record<string, string[]> = {}
      for (const statement of statements) {
        const wrong = wrongIn(await planOf(client, statement))
        if (wrong.length > 0) found[statement.name] = wrong
      }
      expect(found).toEqual({})
    },
  )
})
