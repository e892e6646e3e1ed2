/** Server and worker in one process, killed in the middle of an upload and in the middle of a PDF. */
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
import { killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { uploader } from './door.ts'

const script = fileURLToPath(new URL('./everything.mjs', import.meta.url))

/** The first attempt at a document waits at its last write, until the test kills the process. */
const hold = `
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.status = 'DONE' and new.attempt = 1 then ${takeLock}; end if;
    return new;
  end $$;
  create trigger hold before update on documents.documents for each row execute function public.hold()`

async function start(databaseUrl: string): Promise<{ child: ChildProcess; port: number }> {
  // A killed process leaves its copies of files behind.
  const folder = mkdtempSync(join(tmpdir(), 'retoma-killed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...process.env, DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', TMPDIR: folder }
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'], env })
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

  const first = await start(url)
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

  const again = await start(url)
  await lock.release()
  await until(async () => (await rows()).every(({ status }) => status === 'DONE'))
  expect((await rows()).map(({ filename }) => filename)).toEqual(['um.pdf', 'dois.pdf'])
  const list = await (await fetch(`http://127.0.0.1:${again.port}/api/documents`)).json()
  expect((list as { items: { id: string }[] }).items.map(({ id }) => id)).toEqual([second.body.id, sent.body.id])
  expect(await sql(`select sum(failures)::int as failures from retoma.job where kind = 'process-document'`)).toEqual([
    { failures: 0 },
  ])
})
