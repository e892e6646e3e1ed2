/** Uploads and lists documents. The upload only stores and enqueues: nothing runs on after the answer. */
import { retoma } from '../../retoma.ts'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

export async function POST(request: Request): Promise<Response> {
  if (request.body === null) return Response.json({ error: 'send a file' }, { status: 400 })
  const { upload } = await retoma()
  const name = new URL(request.url).searchParams.get('name') ?? 'document.pdf'
  const id = await upload(name, request.body as unknown as AsyncIterable<Uint8Array>)
  return Response.json({ id, status: 'PENDING' }, { status: 202 })
}

export async function GET(): Promise<Response> {
  const { engine } = await retoma()
  const { rows } = await engine.query(
    `select id::text as id, filename, status, error_message, bytes::float8 as bytes from documents d order by d.id desc limit 50`,
  )
  return Response.json({ items: rows })
}
