/** Server and workers, in one process and in three, killed in the middle of an upload, of a PDF and of a page of a sync. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { sqlOn } from '../../../test/support/application.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { cpuSecondsOf, descendantsOf, isAlive } from '../../../test/support/processes.ts'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { uploader } from './door.ts'
import { entriesFor, pluggyServer } from './open-finance/pluggy-server.ts'

const script = fileURLToPath(new URL('./process.mjs', import.meta.url))

/** The first attempt at a document waits at its last write, until the test kills the process. */
const hold = `
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.status = 'DONE' and new.attempt = 1 then ${takeLock}; end if;
    return new;
  end $$;
  create trigger hold before update on documents.documents for each row execute function public.hold()`

/** A killed process leaves its copies of files behind. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-killed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a server that is also a worker of `queues`. */
async function start(
  environment: Record<string, string>,
  ...queues: string[]
): Promise<{ child: ChildProcess; port: number }> {
  const env = { ...process.env, LOG_LEVEL: 'silent', TMPDIR: temporaryFolder(), ...environment }
  const child = spawn(process.execPath, [script, 'serve', ...queues], { stdio: ['pipe', 'pipe', 'inherit'], env })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    await killed(child)
  })
  const port = await new Promise<string>(resolve => child.stdout!.once('data', data => resolve(String(data))))
  return { child, port: Number(port) }
}

const at = (port: number) => (request: Request) =>
  fetch(new Request(request.url.replace(':3000', `:${port}`), request as RequestInit))

/** Sends the head of a request and half of a file. */
async function halfUpload(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const form =
    '--b\r\nContent-Disposition: form-data; name="file"; filename="meio.pdf"\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.7\n'
  socket.write(
    `POST /api/documents HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9000000\r\n\r\n${form}`,
  )
  socket.write(Buffer.alloc(3 * 1024 * 1024, 'x'))
}

test('killed in the middle of an upload and of a PDF: what was answered 202 is DONE after the next start, the half upload is no document', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const sql = await sqlOn({ databaseUrl: url })
  const lock = await writeLock(url, hold)

  const first = await start({ DATABASE_URL: url }, 'documents', 'sync')
  const sent = await uploader(at(first.port))(goodPdf('Contrato'), { name: 'um.pdf' })
  expect(sent.status).toBe(202)
  await until(lock.isAwaited)
  const second = await uploader(at(first.port))(goodPdf('Outro'), { name: 'dois.pdf' })
  await halfUpload(first.port)
  await until(async () => (await sql(`select from retoma.file where sha256 is null`)).length > 0)
  await killed(first.child)
  await lock.endWaiting()
  const rows = () =>
    sql<{ status: string; filename: string }>(`select status, filename, attempt from documents.documents order by id`)
  expect((await rows())[0]).toMatchObject({ status: 'PROCESSING', filename: 'um.pdf', attempt: 1 })
  // The machine was off for an hour. The guard is due at the next start, and the document must run again all the same.
  await sql(`update documents.documents set updated_at = updated_at - interval '1 hour'`)
  await sql(`update retoma.guard set swept_at = swept_at - interval '1 hour'`)

  const again = await start({ DATABASE_URL: url }, 'documents', 'sync')
  await lock.release()
  await until(async () => (await rows()).every(({ status }) => status === 'DONE'))
  expect((await rows()).map(({ filename }) => filename)).toEqual(['um.pdf', 'dois.pdf'])
  const list = await (await fetch(`http://127.0.0.1:${again.port}/api/documents`)).json()
  expect((list as { items: { id: string }[] }).items.map(({ id }) => id)).toEqual([second.body.id, sent.body.id])
  expect(await sql(`select sum(failures)::int as failures from retoma.job where kind = 'process-document'`)).toEqual([
    { failures: 0 },
  ])
})

/** The second page of a sync waits before its rows are written. */
const holdPage = `
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if exists (select from documents.bank_transaction) then ${takeLock}; end if;
    return null;
  end $$;
  create trigger hold before insert on documents.bank_transaction for each statement execute function public.hold()`

/** A PDF that takes many times as long to read as the process of the reader takes to start. */
const book = () =>
  goodPdf(Array.from({ length: 2000 }, (_, page) => `Página ${page}\n${'palavra do livro '.repeat(25)}`))

const readsFor = (seconds: number) => (pid: string) => cpuSecondsOf(pid) > seconds

test.skipIf(process.platform !== 'linux')(
  'server, worker of PDFs and worker of syncs killed at once, while a child reads a PDF, a page of a sync is written and uploads come in: all that was answered 202 ends DONE, no child is left, no transaction is there twice, and balances are those of the ledger',
  async () => {
    const { url, drop } = await migratedDatabase('with systems')
    onTestFinished(drop)
    const bank = await pluggyServer()
    onTestFinished(() => bank.close())
    bank.addAccount('item-1', 'acc-1', entriesFor('a', 23, new Date()))
    bank.addAccount('item-1', 'acc-2', entriesFor('b', 12, new Date()), 'CREDIT')
    const sql = await sqlOn({ databaseUrl: url })
    const lock = await writeLock(url, holdPage)
    const environment = {
      DATABASE_URL: url,
      PLUGGY_BASE_URL: bank.baseUrl,
      PLUGGY_CLIENT_ID: bank.clientId,
      PLUGGY_CLIENT_SECRET: bank.clientSecret,
    }
    const startAll = async () => ({
      readers: hire(script, { ...environment, TMPDIR: temporaryFolder() }, 'documents'),
      syncs: hire(script, environment, 'sync'),
      server: await start(environment),
    })
    const first = await startAll()
    const address = `http://127.0.0.1:${first.server.port}`
    await halfUpload(first.server.port)
    await until(async () => (await sql(`select from retoma.file where sha256 is null`)).length > 0)
    const upload = uploader(at(first.server.port))
    const sent = await upload(book(), { name: 'livro.pdf' })
    expect(sent.status).toBe(202)
    await until(() => descendantsOf(first.readers.pid!).some(readsFor(1)))
    // After the reader has begun: a page that waits for longer than the lock timeout would fail.
    const answered = await fetch(`${address}/api/open-finance/sync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ item_id: 'item-1' }),
    })
    expect(answered.status).toBe(202)
    const sync = (await answered.json()) as { id: string }
    await until(lock.isAwaited)
    // Each of a user of its own, because a user has ten uploads a minute. The kill comes after some answers, and before others.
    const small = Array.from({ length: 20 }, (_, n) =>
      upload(goodPdf(`Recibo ${n}`), { name: `recibo-${n}.pdf`, user: `user${n}` }),
    )
    await Promise.race(small)
    const children = descendantsOf(first.readers.pid!)
    expect(children.some(readsFor(1))).toBe(true)
    await Promise.all([killed(first.readers), killed(first.syncs), killed(first.server.child)])
    const answers = (await Promise.allSettled(small)).flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
    await until(() => !children.some(isAlive))
    await lock.endWaiting()
    // The child had not answered, and the page is not there by half.
    expect(await sql(`select status, attempt from documents.documents where id = $1`, [sent.body.id])).toEqual([
      { status: 'PROCESSING', attempt: 1 },
    ])
    expect(await sql(`select from retoma.checkpoint where name = 'text'`)).toEqual([])
    expect(await sql(`select count(*)::int as rows from documents.bank_transaction`)).toEqual([{ rows: 5 }])
    await lock.release()

    const again = await startAll()
    // By the clock of the database, from the start of the worker: the start of a process takes long on a busy machine.
    const begun = `
      select j.kind, extract(epoch from j.started_at - (select max(w.started_at) from retoma.worker w where w.queues ? j.queue))::float8 as seconds
      from retoma.job j
      where j.attempt > 1 and (j.kind = 'open-finance-sync' or j.input->>'document' = $1)`
    await until(async () => (await sql(begun, [sent.body.id])).length === 2)
    for (const { kind, seconds } of await sql<{ kind: string; seconds: number }>(begun, [sent.body.id]))
      expect(seconds, kind).toBeLessThan(30)
    const documents = () =>
      sql<{ id: string; status: string; filename: string }>(`select id, status, filename from documents.documents`)
    await until(async () => (await documents()).every(({ status }) => status !== 'PENDING' && status !== 'PROCESSING'))
    const read = async (path: string) =>
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
      (await (await fetch(`http://127.0.0.1:${again.server.port}/api/open-finance/${path}`)).json()) as any
    await until(async () => !['PENDING', 'PROCESSING'].includes((await read(`syncs/${sync.id}`)).status))

    const rows = await documents()
    const done = rows.filter(({ status }) => status === 'DONE')
    expect(done).toHaveLength(rows.length)
    const ids = [sent, ...answers].map(({ body }) => body.id)
    expect(ids.filter(id => !done.some(row => row.id === id))).toEqual([])
    // An upload whose answer was lost may be a document; half an upload is none, and no upload is two documents.
    expect(new Set(rows.map(({ filename }) => filename)).size).toBe(rows.length)
    expect(rows.map(({ filename }) => filename)).not.toContain('meio.pdf')
    // A kill is no failure of a job.
    expect(await sql(`select kind, error from retoma.job where failures > 0`)).toEqual([])

    expect(await read(`syncs/${sync.id}`)).toMatchObject({
      status: 'DONE',
      accounts: 2,
      added: 35,
      changed: 0,
      removed: 0,
    })
    const { items } = await read('transactions?limit=500')
    expect(new Set(items.map(({ id }: { id: string }) => id)).size).toBe(35)
    expect(items).toHaveLength(35)
    const { items: accounts } = await read('accounts')
    expect(accounts).toHaveLength(2)
    for (const { id, balance } of accounts) {
      expect(balance).toBe(bank.balanceOf(id))
      const cents = items
        .filter((each: { account_id: string }) => each.account_id === id)
        .reduce((sum: bigint, each: { amount: string }) => sum + BigInt(each.amount.replace('.', '')), 0n)
      expect((Number(cents) / 100).toFixed(2)).toBe(bank.balanceOf(id))
    }
  },
)
