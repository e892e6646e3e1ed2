/**
 * Reads and writes the rows of a document's job: the document with the settings, answers to the same bytes, purchases, and the answer.
 *
 * Invariant: a purchase is a separate row, by document and attempt, and the insert of the row adds the cost. So the cost of an execution
 * is the sum of the purchases, however often a write is repeated. Under a cost limit, no question is sent without reserving the expected
 * price; a reservation counts until the purchase is written or the attempt is over.
 */
import type { JobTransaction } from 'retoma'
import type { Asking } from '../prompt.ts'
import type { Bought } from '../providers/answer.ts'
import type { Reply } from '../providers/reply.ts'

type Reader = Pick<JobTransaction, 'query'>

export interface Document {
  id: string
  run: string
  code: string
  /** Either `file` or `text` is set. */
  file: string | null
  text: string | null
  hash: Uint8Array
  settings: Asking
  /** Counts the files of the document: more than 1 after the file was replaced. */
  version: number
  /** False: the execution is a sample without this document. */
  sampled: boolean
  settingsHash: Uint8Array
  reuse: boolean
  /** The execution has a cost limit. */
  limited: boolean
}

const document = `
  select d.id::text as id, d.run_id::text as run, d.code, d.file_id::text as file, d.text, d.hash, d.version, d.sampled, r.settings,
    r.settings_hash as "settingsHash", r.reuse,
    r.cost_allowed_usd is not null as limited
  from classifier.document d
    join classifier.run r on r.id = any (array[d.run_id])
  where d.id = $1`

/** undefined: the document is erased. */
export async function readDocument(reader: Reader, id: string): Promise<Document | undefined> {
  return (await reader.query<Document>(document, [id])).rows[0]
}

// First the execution, then the document: the order of a purchase.
const ocr = `
  with charged as (
    update classifier.run r set ocr_seconds = r.ocr_seconds + $4::numeric where r.id = $5 returning r.id
  )
  update classifier.document d set ocr_pages = $2, ocr_confidence = $3, ocr_seconds = $4::numeric
  from charged c
  where d.id = $1`

/** Stores the cost of OCR; the text itself is a step of the job. */
export async function saveOcr(
  tx: JobTransaction,
  { id, run }: Document,
  { pages, confidence, seconds }: { pages: number; confidence: number | null; seconds: number },
): Promise<void> {
  await tx.query(ocr, [id, pages, confidence, seconds, run])
}

export interface Reusable extends Omit<Reply, 'labels'> {
  labels: string[] | null
  from: string
  model: string | null
}

// If the found answer was itself reused, `from` is the original document.
const reusable = `
  select coalesce(d.reused_from, d.id)::text as "from", d.category, d.confidence::float8 as confidence, d.justification, d.model, d.labels
  from classifier.document d
  where d.hash = $1 and d.answered_at is not null and d.category is not null and d.simulated = $3 and d.id <> $4
    and d.settings_hash = $2
  order by d.answered_at, d.id
  limit 1`

/** An answer to the same bytes with the same settings; a simulated answer only for a simulated execution. */
export async function findReusable(
  reader: Reader,
  { id, hash, settingsHash }: Document,
  simulated: boolean,
): Promise<Reusable | undefined> {
  return (await reader.query<Reusable>(reusable, [hash, settingsHash, simulated, id])).rows[0]
}

// The row belongs to the attempt in it while this attempt runs. Each caller sees the newest row behind its lock, so one caller wins. An
// attempt that this statement cannot see yet runs.
const takeQuestion = `
  insert into classifier.question as q (hash, settings_hash, document_id, job_id, attempt)
  values ($1, $2, $3, $4, $5)
  on conflict (hash, settings_hash) do update
  set document_id = excluded.document_id, job_id = excluded.job_id, attempt = excluded.attempt
  where q.job_id = excluded.job_id
    or not exists (
      select from retoma.job j
      where j.id = q.job_id and (j.attempt < q.attempt or j.attempt = q.attempt and j.state = 'running')
    )`

/** false: another document with the same bytes and settings is being asked about, and its answer can be reused afterwards. */
export async function takeTurnOfQuestion(
  home: Reader,
  { id, hash, settingsHash }: Document,
  by: { id: string; attempt: number },
): Promise<boolean> {
  return (await home.query(takeQuestion, [hash, settingsHash, id, by.id, by.attempt])).rowCount === 1
}

const endQuestion = `delete from classifier.question where hash = $1 and settings_hash = $2 and document_id = $3`

/** Ends the question together with the answer: the next document with the same bytes finds the answer. */
export async function endTurnOfQuestion(tx: Reader, { id, hash }: Document, settingsHash: Uint8Array): Promise<void> {
  await tx.query(endQuestion, [hash, settingsHash, id])
}

// A single statement, so concurrent questions are checked one after the other: each check sees the earlier reservations in the row. While
// the price is unknown, a single question is asked at a time.
const reserve = `
  update classifier.run r
  set reserved = classifier.reserved(r.reserved)
    || jsonb_build_object($2::text, jsonb_build_object('job', $3::bigint, 'attempt', $4::integer, 'usd', r.cost_expected_usd))
  where r.id = $1 and (r.cost_allowed_usd is null or r.cost_usd < r.cost_allowed_usd and
    case when r.cost_expected_usd is null then classifier.reserved(r.reserved - $2::text) = '{}'::jsonb
    else r.cost_usd + classifier.reserved_usd(r.reserved - $2::text, r.cost_expected_usd) + r.cost_expected_usd
      <= r.cost_allowed_usd end)`

// The total with this question, so a raise of the limit is large enough.
const reached = `
  update classifier.run r
  set cost_needed_usd = greatest(r.cost_allowed_usd + 0.000001, r.cost_usd + coalesce(r.cost_expected_usd, 0)
    + classifier.reserved_usd(r.reserved - $2::text, coalesce(r.cost_expected_usd, 0)))
  where r.id = $1 and (r.cost_usd >= r.cost_allowed_usd
    or r.cost_usd + classifier.reserved_usd(r.reserved - $2::text, r.cost_expected_usd) + r.cost_expected_usd
      > r.cost_allowed_usd)
  returning r.cost_usd::text as cost, r.cost_allowed_usd::text as allowed, r.cost_needed_usd::text as needed`

/** Money is a text. `needed`: the cost of the execution including this question. */
export interface Spent {
  cost: string
  allowed: string
  needed: string
}

/** reserved: the question may be asked. wait: another question is open and will show the price. Otherwise the limit is reached. */
export async function reserveCost(
  home: Reader,
  { id, run }: Document,
  by: { id: string; attempt: number },
): Promise<'reserved' | 'wait' | Spent> {
  if ((await home.query(reserve, [run, id, by.id, by.attempt])).rowCount === 1) return 'reserved'
  return (await home.query<Spent>(reached, [run, id])).rows[0] ?? 'wait'
}

// Locks the execution before the document, in the same order as the code that gives an execution its batch: the other order would
// deadlock.
const purchase = `
  with bought as (
    insert into classifier.purchase
      (document_id, attempt, provider, answer_id, model, tokens_in, tokens_out, cost_usd, usable, at)
    values ($1, $3, $4, $5, $6, $7, $8, $9, $10, now())
    on conflict do nothing
    returning cost_usd
  ), charged as (
    update classifier.run r
    set cost_usd = r.cost_usd + b.cost_usd, reserved = r.reserved - $1::text,
      cost_expected_usd = case when r.settings_hash = $11 then greatest(r.cost_expected_usd, b.cost_usd) else r.cost_expected_usd end
    from bought b
    where r.id = $2
    returning b.cost_usd
  )
  update classifier.document d
  set cost_usd = coalesce(d.cost_usd, 0) + c.cost_usd
  from charged c
  where d.id = $1`

/** Saves the purchase of an attempt, useful or not. The cost of a document is the sum of the purchases. */
export async function savePurchase(
  tx: JobTransaction,
  { id, run }: Document,
  provider: string,
  given: { attempt: number; bought: Bought; usable: boolean; settingsHash: Uint8Array },
): Promise<void> {
  const { attempt, bought, usable, settingsHash } = given
  const { id: answer, model, tokensIn, tokensOut, cost } = bought
  await tx.query(purchase, [id, run, attempt, provider, answer, model, tokensIn, tokensOut, cost, usable, settingsHash])
}

export interface Answered extends Reply {
  model: string | null
  tokensIn: number | null
  tokensOut: number | null
  simulated: boolean
  reusedFrom: string | null
  settingsHash: Uint8Array
  /** The text of a file as the AI received the text; null: the document was sent as text. */
  content: string | null
  /** The text of a paid answer; null: the answer was not paid for this document. */
  written: string | null
  version: number
}

// A late answer to a replaced file changes nothing. The execution is changed once, and before the document, as in a purchase.
const answer = `
  with noted as (
    update classifier.run r set simulated = $8::boolean or coalesce(r.simulated, false)
    where r.id = $15 and (r.simulated is null or $8::boolean and not r.simulated)
    returning r.id
  )
  update classifier.document d
  set category = $2, confidence = $3, justification = $4, model = $5, tokens_in = $6, tokens_out = $7, simulated = $8,
    reused_from = $9, cost_usd = coalesce(d.cost_usd, 0), answered_at = now(), useless_answer = null, settings_hash = $10,
    content = $11, raw_answer = $12, labels = $14
  where d.id = $1 and d.version = $13 and (select count(*) from noted) >= 0`

/** False: the file was replaced in the meantime. */
export async function saveAnswer(tx: JobTransaction, { id, run }: Document, given: Answered): Promise<boolean> {
  const {
    category,
    confidence,
    justification,
    model,
    tokensIn,
    tokensOut,
    simulated,
    reusedFrom,
    settingsHash,
    content,
  } = given
  const values = [
    id,
    category,
    confidence,
    justification,
    model,
    tokensIn,
    tokensOut,
    simulated,
    reusedFrom,
    settingsHash,
    content,
    given.written,
    given.version,
    given.labels ?? null,
    run,
  ]
  return (await tx.query(answer, values)).rowCount === 1
}

const useless = `update classifier.document set useless_answer = $2 where id = $1`

/** Saves the useless text of the AI, replacing the earlier text. */
export async function saveUseless(tx: Reader, id: string, written: string | null): Promise<void> {
  await tx.query(useless, [id, written])
}
