/**
 * Replaces the file of a document, and finds the job of a document.
 *
 * Invariant: a replaced file is the next version of the document: the answer, the review and the duplicate mark of the old file go in the same
 * statement, and saved steps and late answers of an earlier version do not count.
 */
import type { Engine, JobTransaction } from 'retoma'

const jobOf = `
  select d.job_id::text as job from classifier.document d join classifier.execucoes_classificacao e on e.id = any (array[d.run_id])
  where d.run_id = $1 and d.code = $2`

/** undefined: there is no such document. null: the document has no job yet. */
export async function readJob(
  home: Pick<Engine, 'query'>,
  run: string,
  code: string,
): Promise<string | null | undefined> {
  return (await home.query<{ job: string | null }>(jobOf, [run, code])).rows[0]?.job
}

const replace = `
  with old as materialized (
    select id, file_id from classifier.document where run_id = $1 and code = $2 for update
  )
  update classifier.document d
  set file_id = $3, text = null, hash = $4, version = d.version + 1, duplicate_of = null, ocr_pages = null,
    ocr_confidence = null, ocr_seconds = null, category = null, labels = null, confidence = null,
    justification = null, model = null, tokens_in = null, tokens_out = null, simulated = null, reused_from = null, answered_at = null,
    useless_answer = null, raw_answer = null, settings_hash = null, content = null, reviewed_category = null, reviewed_labels = null, reviewed_by = null,
    reviewed_at = null
  from old
  where d.id = any (array[old.id])
  returning old.file_id::text as file`

/** Returns the earlier file, or null for a text; undefined: there is no such document. The cost of the document stays. */
export async function replaceFile(
  tx: JobTransaction,
  run: string,
  code: string,
  given: { file: string; hash: Uint8Array },
): Promise<string | null | undefined> {
  const { rows } = await tx.query<{ file: string | null }>(replace, [run, code, given.file, given.hash])
  return rows[0]?.file
}

const include = `update classifier.document set sampled = true where run_id = $1 and code = $2 and not sampled`

/** A document that a sample left out is classified by the next attempt. */
export async function includeInSample(tx: JobTransaction, run: string, code: string): Promise<void> {
  await tx.query(include, [run, code])
}
