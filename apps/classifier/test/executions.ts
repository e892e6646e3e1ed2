/** Executions without routes: the rows, the batch, and the outcome of the documents. */
import { createHash } from 'node:crypto'
import type { Engine, Log } from 'retoma'
import { expect, onTestFinished } from 'vitest'
import { type Sql, sqlOn } from '../../../test/support/application.ts'
import { engineOf } from '../../../test/support/engine.ts'
import { createJobs, type Jobs, type OpenRouterOptions } from '../jobs.ts'
import { type OpenRouterServer, openRouterServer } from './openrouter-server.ts'

/** A server that ends with the test. */
export async function serverForTest(): Promise<OpenRouterServer> {
  const server = await openRouterServer()
  onTestFinished(() => server.close())
  return server
}

const categories = ['Contrato', 'Petição Inicial', 'Outros']

export interface Made {
  /** The texts, or the ids of the files; a number: this many texts, `D-1` and so on, each about a contract. */
  documents: number | (string | { file: string })[]
  retries?: number
  reuse?: boolean
  costLimit?: string
  model?: string
  /** Pages that OCR reads. Default: no OCR. */
  ocrPages?: number
}

/** A document with the job. */
export interface Seen {
  code: string
  state: string
  /** Every claim without a release. */
  starts: number
  failures: number
  error: { code: string; message: string; stack: string } | null
  category: string | null
  confidence: string | null
  justification: string | null
  model: string | null
  cost_usd: string | null
  simulated: boolean | null
  reused_from: string | null
}

const textOf = (n: number): string => `D-${n} é um contrato de locação.`

/** The rows of an execution, as written by the routes. */
export async function insertRun(sql: Sql, made: Made) {
  const texts =
    typeof made.documents === 'number'
      ? Array.from({ length: made.documents }, (_, n) => textOf(n + 1))
      : made.documents
  const settings = { categories, instructions: '', model: made.model ?? null, ocr_pages: made.ocrPages ?? 0 }
  const hash = (of: string) => createHash('sha256').update(of).digest()
  const [project] = await sql<{ id: string }>(
    `insert into classifier.project (name, categories, created_at, updated_at) values ('p', $1, now(), now()) returning id`,
    [categories],
  )
  const [run] = await sql<{ id: string }>(
    `insert into classifier.run (project_id, settings, settings_hash, total, reuse, cost_allowed_usd, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, 'ana', now()) returning id`,
    [project!.id, settings, hash(JSON.stringify(settings)), texts.length, made.reuse ?? false, made.costLimit ?? null],
  )
  const files = texts.map(each => (typeof each === 'string' ? null : each.file))
  const bare = texts.map(each => (typeof each === 'string' ? each : null))
  const hashes = texts.map(each => hash(typeof each === 'string' ? each : each.file))
  const documents = await sql<{ id: string; code: string; hash: Buffer }>(
    `insert into classifier.document (run_id, n, code, file_id, text, hash)
     select $1, n, 'doc-' || n, file, text, hash
     from unnest($2::text[], $3::bytea[], $4::bigint[]) with ordinality as t (text, hash, file, n)
     returning id, code, hash`,
    [run!.id, bare, hashes, files],
  )
  return { run: run!.id, documents }
}

/** Creates and submits an execution. */
export async function execute(
  engine: Engine,
  { classification }: Jobs,
  sql: Sql,
  made: Made,
): Promise<{ run: string; batch: string }> {
  const { run, documents } = await insertRun(sql, made)
  const { id: batch } = await engine.submit(
    classification,
    documents.map(each => ({ document: each.id })),
    {
      ref: (_, index) => documents[index]!.code,
      items: { maxAttempts: (made.retries ?? 2) + 1 },
    },
  )
  await sql(`update classifier.run set batch_id = $2 where id = $1`, [run, batch])
  await sql(
    `update classifier.document d set job_id = j.id from retoma.job j
     where d.run_id = $1 and j.batch_id = $2 and j.ref = d.code`,
    [run, batch],
  )
  return { run, batch }
}

export const seenIn = (sql: Sql, run: string): Promise<Seen[]> =>
  sql<Seen>(
    `select d.code, j.state, j.attempt - j.uncounted_attempts as starts, j.failures, j.error, d.category, d.confidence, d.justification,
       d.model, d.cost_usd, d.simulated, d.reused_from
     from classifier.document d join retoma.job j on j.id = d.job_id
     where d.run_id = $1 order by d.n`,
    [run],
  )

/** The cost is equal by purchase, by document and in all, and equals `paid`. */
export async function expectBooksToAdd(sql: Sql, run: string, paid: number): Promise<void> {
  const [books] = await sql<{ cost: string; purchases: string; documents: string }>(
    `select r.cost_usd as cost,
       (select coalesce(sum(p.cost_usd), 0) from classifier.purchase p join classifier.document d on d.id = p.document_id
        where d.run_id = r.id) as purchases,
       (select coalesce(sum(cost_usd), 0) from classifier.document where run_id = r.id) as documents
     from classifier.run r where r.id = $1`,
    [run],
  )
  expect(Number(books!.cost)).toBe(Number(books!.purchases))
  expect(Number(books!.cost)).toBe(Number(books!.documents))
  expect(Number(books!.cost)).toBeCloseTo(paid, 6)
}

/** The cost also equals the delivered cost in the provider's ledger. */
export const expectBooksToAgree = (sql: Sql, server: OpenRouterServer, run: string): Promise<void> =>
  expectBooksToAdd(
    sql,
    run,
    server.calls.filter(call => call.delivered).reduce((sum, call) => sum + call.cost, 0),
  )

/** A classifier on a virtual clock, with the stand-in for the AI. `key: null`: without a key. */
export async function classifier(
  options: Omit<Partial<OpenRouterOptions>, 'key'> & { key?: null } = {},
  more: { log?: Log } = {},
) {
  const server = await serverForTest()
  const { key = server.key, ...rest } = options
  const openRouter = { baseUrl: server.baseUrl, model: undefined, ...rest, key: key ?? undefined }
  const jobs = createJobs({ openRouter })
  const { classification, limits } = jobs
  const t = await engineOf({ jobs: jobs.jobs, batches: [classification], limits, ...more })
  jobs.attach(t.engine)
  const sql = await sqlOn(t)
  return {
    ...t,
    server,
    sql,
    jobs,
    execute: (made: Made) => execute(t.engine, jobs, sql, made),
    seen: (run: string) => seenIn(sql, run),
    booksAgree: (run: string) => expectBooksToAgree(sql, server, run),
  }
}
