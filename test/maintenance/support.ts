/** Shared parts of the tests of backup and restore: databases, temporary files, and a digest made in SQL. */
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { type Migration, migrate, readSystemMigrations } from '../../src/database/migrate.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { backupDatabase, checkBackup, restoreDatabase } from '../../src/maintenance/index.ts'
import type { RestoreOptions } from '../../src/maintenance/restore.ts'
import { createTestDatabase } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'

/** Systems with tables of their own, whose rows are in a backup too. */
export const systemNames = ['classifier', 'quotes', 'documents', 'snaps', 'planner']
const systems = systemNames.map(name => ({
  name,
  migrations: new URL(`../../apps/${name}/sql/`, import.meta.url),
}))

export interface Place {
  readonly url: string
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** Every table's rows as one digest, made by the server. */
  digest(): Promise<Record<string, string>>
}

/** An empty database; with migrations also our schema, and the schema of a system. */
export async function place(migrations?: Migration[] | 'ours'): Promise<Place> {
  const database =
    migrations === 'ours' ? await migratedDatabase('with systems') : await createTestDatabase(inject('serverUrl'))
  const pool = new pg.Pool({ connectionString: database.url, max: 3 })
  pool.on('error', () => {})
  onTestFinished(async () => {
    await pool.end()
    await database.drop()
  })
  if (migrations !== undefined && migrations !== 'ours') {
    const db = openDb({ url: database.url, log: silentLog })
    await migrate(db, { migrations })
    for (const { name, migrations } of await readSystemMigrations(systems))
      await migrate(db, { system: name, migrations })
    await db.close()
  }
  const sql = async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[]
  return { url: database.url, sql, digest: () => digestOf(sql) }
}

async function digestOf(sql: Place['sql']): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }>(
    `select nspname || '.' || relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where nspname in (${['retoma', ...systemNames].map(name => `'${name}'`)}) and relkind = 'r' and relname not in ('migration', 'system_migration')
     order by 1`,
  )
  const digests: Record<string, string> = {}
  for (const { name } of tables) {
    // Of a worker all but its death: a restore declares it.
    const row = name === 'retoma.worker' ? `(to_jsonb(t) - 'dead_at')` : 't'
    const [found] = await sql<{ digest: string }>(
      `select count(*) || ' ' || coalesce(sum(hashtextextended(${row}::text, 0)), 0) as digest from ${name} t`,
    )
    digests[name.replace('retoma.', '')] = found!.digest
  }
  const [ids] = await sql<{ last: string }>(`select last_value || ' ' || is_called as last from retoma.job_id_seq`)
  return { ...digests, ids: ids!.last }
}

export function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-backup-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const filesIn = (folder: string): string[] => readdirSync(folder).sort()

export async function backUp({ url }: Place, file = join(scratch(), 'b.gz')): Promise<string> {
  await backupDatabase({ databaseUrl: url, file })
  return file
}

export async function restore(
  { url }: Place,
  file: string,
  options: Partial<Omit<RestoreOptions, 'databaseUrl' | 'backup'>> = {},
) {
  const given = { systems, ...options }
  return restoreDatabase({ databaseUrl: url, backup: await checkBackup(file, given), ...given })
}

/** Rows in every table, jobs of every state, with whatever a text form could get wrong. */
export const oddRows = `
  insert into retoma.kind (name, queue, policy, version, updated_at)
  values ('k', 'q', '{"maxAttempts": 3, "big": 123456789012345678901234567890.5, "esc": "\\u00e7 \\"\\\\"}', 2, '2030-01-01T00:00:00.000001Z');
  insert into retoma.queue (name, paused, limits, full_scan_at)
  values ('q', false, '{}', '-infinity'), (E'odd, "name"\\n(\\\\)', true, '{"a": null}', 'infinity');
  insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
  values ('w', '', 1, '0', '{"q": 1}', array['k', 'a "b" \\c', '', 'null', '{,}'], now(), now() - interval '1 hour');
  insert into retoma.job (queue, kind, key, unique_until, ref, state, claim_rank, run_at, input, result, attempt, worker_id, error, created_at, finished_at)
  select 'q', 'k', case when i % 3 = 0 then 'key ' || i end, case when i % 3 = 0 then 'day' end,
    (array[null, '', ' ', E'\\n', E'\\t', '\\', '"', '()', ',', 'NULL', 'ação 🌱', E'\\u2028'])[i % 12 + 1],
    s.state, 9, now() + i * interval '1.000001 s', jsonb_build_object('i', i, 't', E'line\\nbreak "quoted" \\\\ ü'), case when s.state = 'succeeded' then 'null'::jsonb end,
    i, case when s.state = 'running' then 'w' end, '{"message": "a\\\\b"}', clock_timestamp(),
    case when s.state in ('succeeded', 'failed', 'skipped', 'cancelled') then now() end
  from generate_series(1, 240) i,
    lateral (select (array['waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled'])[i % 7 + 1] as state) s;
  insert into retoma.failure (job_id, attempt, failure_type, message, stack, at)
  select id, 1, 'error', E'a\\nb', null, now() from retoma.job where id % 2 = 0;
  insert into retoma.file (name, type, size, sha256, job_id, created_at)
  select E'ação "1"\\n.pdf', 'application/pdf', 3000000, sha256('x'), min(id), now() from retoma.job
  union all select 'half', 'a/b', 0, null, null, '-infinity';
  insert into retoma.file_chunk (file_id, n, bytes)
  select f.id, n, decode(repeat(md5(n::text || f.id), 32768), 'hex') from retoma.file f, generate_series(0, 2) n where sha256 is not null;
  insert into retoma.job_floor (state, name, claim_rank, at, searched_at) values ('waiting', 'q', 9, now(), now());
  insert into retoma.provider (name, wait_until, at, message) values ('openrouter', 'infinity', now(), 'sem crédito');
  insert into classifier.project (name, categories, created_at, updated_at) values ('p', array['a "b"', ''], now(), now());
  insert into classifier.run (project_id, settings, settings_hash, total, created_by, created_at)
  select id, '{"a": 1}', '\\xff00', 1, 'ana', now() from classifier.project;
  insert into classifier.document (run_id, n, code, text, hash, cost_usd)
  select id, 1, 'a.pdf', E'linha\\n2', '\\x00', 0.000001 from classifier.run;
  insert into quotes.batch (total, created_by, created_at) values (1, 'ana', now());
  insert into quotes.quote (batch_id, n, description, created_by, created_at, result, simulated)
  select id, 1, 'notebook "x"', 'ana', now(), '{"price": "1.10"}', true from quotes.batch;
  insert into quotes.reading (quote_id, n, product, shop, url, price, currency, seen_at)
  select id, 1, E'a\\n"b"', 'loja', 'https://loja.example', 3499.90, 'BRL', now() from quotes.quote;
  insert into quotes.fipe (source, reference, path, answer, answered_at) values ('simulated', '331', 'cars/brands', '[{"code": "1"}]', now());
  insert into planner.job (job_id, kind, created_by, created_at) values (1, 'extract-demand', 'ana', now());
  insert into quotes.turn (name, slot, holder, until, job_id, attempt) values ('provider:fipe', 1, 'h', 'infinity', 1, 1);
  insert into documents.documents (id, user_id, filename, size, sha256, file_id, status, job_id, text, search, created_at, updated_at)
  values ('01890000-0000-7000-8000-000000000001', 'ana', E'ação "1"\\n.pdf', 3, '\\x00ff', 1, 'DONE', 1, E'linha\\n2', to_tsvector('portuguese', 'ação'), now(), now());
  insert into documents.bank_user (user_id, group_key) values ('ana', '01890000-0000-7000-8000-000000000002');
  insert into documents.bank_item (id, user_id, institution, status, checked_at, simulated, created_at)
  values ('item "1"', 'ana', E'Banco\\n1', 'UPDATED', now(), true, now());
  insert into documents.bank_sync (id, user_id, item_id, job_id, simulated, created_at)
  values ('01890000-0000-7000-8000-000000000003', 'ana', 'item "1"', 1, true, now());
  insert into documents.bank_account (item_id, id, user_id, name, type, currency, balance, balance_at, simulated, created_at, window_from, sync_id, position, is_read)
  values ('item "1"', 'a', 'ana', 'Conta', 'BANK', 'BRL', -0.10, now(), true, now(), '2030-01-01', '01890000-0000-7000-8000-000000000003', '{"page": 1}', false);
  insert into documents.bank_transaction (item_id, account_id, id, user_id, occurred_at, day, description, amount, currency, type, status, sync_id, created_at, updated_at)
  values ('item "1"', 'a', 't', 'ana', now(), '2030-01-01', E'PIX, "x"\\n', 1234567890123456.78, 'BRL', 'DEBIT', 'POSTED', '01890000-0000-7000-8000-000000000003', now(), 'infinity');
  insert into documents.pluggy_key (client, generation, sealed, expires_at) values ('c', 1, '\\x00ff', now());
  insert into snaps.snap (job_id, file_id, name, content_type, size, sha256, created_by, created_at, format, width, height, perceptual_hash,
    luminance_histogram, blur_score, dominant_colors, taken_at, taken_at_offset)
  values (1, 1, E'a\\n"b".jpg', 'image/jpeg', 3, '\\x00ff', 'ana', now(), 'jpeg', 2, 1, 'x80000000000000ff'::bit(64), '{0,2}', 0.1,
    '[{"hex": "#00ff00", "share": 1}]', now(), '-03:00');
  insert into classifier.purchase (document_id, attempt, provider, cost_usd, usable, at)
  select id, 1, 'openrouter', 0.000001, true, now() from classifier.document;
  insert into classifier.question (hash, settings_hash, document_id, job_id, attempt) select '\\x00', '\\xff', id, 1, 1 from classifier.document;
  insert into retoma.batch (id, name, key, key_reserved, kind, queue, policy, state, priority, total, reason, throughput_at, throughput_done, created_at, submitted_at, finished_at)
  values (nextval('retoma.job_id_seq'), 'b', E'key\\n"1"', true, 'k', 'q', '{"maxResumes": 3}', 'succeeded', 4, 2, '{"code": "ação"}', array['-infinity', now()], '{1,2}', now(), now(), now());
  insert into retoma.batch_chunk (batch_id, n, first_id, last_id, items) select id, 0, 1, 2, 2 from retoma.batch;
  insert into retoma.batch_count (batch_id, shard, succeeded, failed, progress_at, last_ref) select id, 15, 1, 1, now(), 'a, "b"' from retoma.batch;
  insert into retoma.checkpoint (job_id, name, attempt, value, at)
  select id, E'step "1"\\n', 1, '{"b": 1, "a": [1.50, null], "a": "twice"}', now() from retoma.job where id % 3 = 0;
  insert into retoma.event (seq, at, type, job_id, batch_id, data)
  values (1, now(), 'state', 1, null, '{"to": "failed"}'), (null, now(), 'action', null, 1, '{"who": "ana \\"x\\""}');
  insert into retoma.finding (verdict, subject, since, seen_at, facts) values ('slow', 'job:1', now(), now(), '{"job": "1"}');
  insert into retoma.limit_counter (queue, group_key, running, hit_at, hit_n, used_at) values ('q', 'g, "1"', 2, array[now()], '{3}', now());
  insert into retoma.guard (name, about, swept_at, last_marked, total, warnings) values ('g', '{"table": "t"}', now(), 1, 12345678901, '[{"en": "x"}]');
  insert into retoma.idempotency (who, route, key, body_hash, status, response, at)
  values ('ana', 'post /api/v1/jobs', E'k\\t"1"', '\\x00ff', 201, '{"id": "7", "n": 1.10}', now()), ('rui', 'post /x', 'under way', '\\x', null, null, now());
  insert into retoma.incident (event, subject, severity, facts, since, found_at, opened_job)
  values ('batch.stalled', 'batch:1', 'warning', '{"name": "b"}', now(), now(), 3);
  insert into retoma.metric (process, name, labels, value, at) values ('w', 'm', '{"queue": "q"}', '[1, 2.5]', now());
  insert into retoma.queue_history (queue, seconds, at, started, succeeded, skipped, failed, retried, deferred, duration_ms, waiting_ms, durations, waitings)
  values (E'odd, "name"', 60, now(), 1, 0, 0, 0, 0, 0, 9007199254740993, 0, '{0,1}', '{}');
  insert into retoma.job_log (job_id, attempt, line_count, lines, at)
  select id, 1, 2, '[[1,"info","a\\u0000 \\"b\\" \\\\"]]', now() from retoma.job order by id limit 1;
  insert into retoma.job_cost (job_id, attempt, currency, amount, last_call)
  select id, 1, 'USD', 0.000000000001, 2 from retoma.job order by id limit 1;
  insert into retoma.batch_cost (batch_id, shard, currency, amount) select id, 15, 'BRL', 12345678901234567890.10 from retoma.batch;
  insert into retoma.rate_window (bucket, who, hit_at, hit_n, expires_at) values ('upload', 'ana', array[now()], '{9}', 'infinity');
  insert into retoma.job_count_sample (queue, kind, state, jobs, oldest_at) values ('q', 'k', 'waiting', 3, '-infinity');
  insert into retoma.schedule (name, kind, recurrence, catch_up, next_at, seen_at, retired)
  values ('s', 'k', '{"cron": "0 4 * * *"}', 'once', now(), now(), array['{"a": "b,c"}'::jsonb]);
  insert into retoma.token (hash, shown, user_name, role, created_at, created_by, revoked_at)
  values ('\\xabcd', 'rt_abcd…', 'ana', 'admin', now(), null, null), ('\\xef', 'rt_efgh…', 'rui "r"', 'viewer', now(), 'ana', now());
  insert into retoma.session (hash, token_id, created_at, expires_at) select '\\x0102', id, now(), 'infinity' from retoma.token limit 1`
