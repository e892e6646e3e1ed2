/**
 * Documents of this app in a table of its own: the upload stores the file, the row and the job in one transaction, a job processes the
 * file, and a guard marks a document that stays in PROCESSING, because its function was stopped.
 */
import { defineGuard, defineJob, type Engine, minutes } from 'retoma'

export const table = `
  create table if not exists documents (
    id bigint generated always as identity primary key,
    filename text not null,
    status text not null,
    error_message text,
    bytes bigint,
    updated_at timestamptz not null default now()
  )`

// A document that is DONE or FAILED stays so: an attempt after a crash finds it finished.
const begin = `
  update documents set status = 'PROCESSING', updated_at = now()
  where id = $1 and status in ('PENDING', 'PROCESSING')
  returning id`
const finish = `update documents set status = 'DONE', bytes = $2, updated_at = now() where id = $1 and status = 'PROCESSING'`

/** Stands for a long task: here the job counts the bytes of the file. */
export const processDocument = defineJob({
  kind: 'process-document',
  queue: 'documents',
  run: async (ctx, { document, file }: { document: string; file: string }) => {
    const { rowCount } = await ctx.transaction(`begin ${ctx.attempt}`, tx => tx.query(begin, [document]))
    if (rowCount === 0) return
    let bytes = 0
    for await (const piece of (await ctx.files.open(file))?.bytes ?? []) bytes += piece.byteLength
    await ctx.transaction('finish', tx => tx.query(finish, [document, bytes]))
  },
})

/** The watchdog: no outside cron is needed, because each pass of `cron/tick` sweeps the table. */
export const lostDocuments = defineGuard({
  name: 'documents',
  table: 'documents',
  status: { column: 'status', running: 'PROCESSING' },
  signal: 'updated_at',
  after: minutes(10),
  set: { status: 'FAILED', error_message: 'Processing timeout (watchdog)' },
})

/** Answers the id of the document as soon as the file is stored; a job does the rest. */
export async function upload(engine: Engine, filename: string, body: AsyncIterable<Uint8Array>): Promise<string> {
  const file = await engine.files.put(body, { name: filename, type: 'application/pdf', most: 50_000_000 })
  return engine.transaction(async tx => {
    const insert = `insert into documents (filename, status) values ($1, 'PENDING') returning id::text as id`
    const { id } = (await tx.query<{ id: string }>(insert, [filename])).rows[0]!
    const job = await engine.enqueue(processDocument, { document: id, file: file.id }, { tx })
    await engine.files.keep([file.id], { job: job.id, tx })
    return id
  })
}
