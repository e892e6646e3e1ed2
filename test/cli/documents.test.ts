/**
 * The documents as they are deployed: `serve` answers, a worker for PDFs and a worker for syncs are processes of their own, and nothing
 * is in common but the database.
 */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { goodPdf } from '../../apps/classifier/test/pdfs.ts'
import { migratedDatabase } from '../support/database.ts'
import { folderWith, start } from './support.ts'

const documents = fileURLToPath(new URL('../../apps/documents/dist/index.js', import.meta.url))
const config = `import { documents } from '${documents}'
export default { systems: [documents()] }
`

test('serve takes uploads and syncs while no worker runs; retoma worker --queues sync:10 runs syncs and no PDF, --queues documents:4 the PDFs', async () => {
  const database = await migratedDatabase()
  const env = { DATABASE_URL: database.url, PORT: '0' }
  const files = { 'retoma.config.ts': config }
  const serve = start(['serve', '--json'], { folder: folderWith(files), env })
  const ending = [serve]
  try {
    const { address } = JSON.parse(await serve.said('}\n')) as { address: string }
    const upload = async (name: string) => {
      const form = new FormData()
      form.set('file', new File([new Uint8Array(goodPdf(`Contrato ${name}`))], name))
      const response = await fetch(`${address}/api/documents`, { method: 'POST', body: form })
      await response.body?.cancel()
      return response.status
    }
    expect(await Promise.all(['a.pdf', 'b.pdf'].map(upload))).toEqual([202, 202])
    const list = async () => {
      const { items } = (await (await fetch(`${address}/api/documents`)).json()) as { items: { status: string }[] }
      return items.map(({ status }) => status)
    }
    const sync = await fetch(`${address}/api/open-finance/sync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(sync.status).toBe(202)
    const { id } = (await sync.json()) as { id: string }
    const synced = async () =>
      ((await (await fetch(`${address}/api/open-finance/syncs/${id}`)).json()) as { status: string }).status
    expect([await list(), await synced()]).toEqual([['PENDING', 'PENDING'], 'PENDING'])
    const work = async (queue: string, slots: number) => {
      const args = ['worker', '--queues', `${queue}:${slots}`, '--no-supervise', '--json']
      const worker = start(args, { folder: folderWith(files), env })
      ending.push(worker)
      expect(JSON.parse(await worker.said('}\n'))).toMatchObject({ queues: { [queue]: slots } })
    }
    await work('sync', 10)
    await expect.poll(synced, { interval: 200 }).toBe('DONE')
    expect(await list()).toEqual(['PENDING', 'PENDING'])
    await work('documents', 4)
    await expect.poll(list, { interval: 200 }).toEqual(['DONE', 'DONE'])
  } finally {
    for (const each of ending) each.tell('SIGTERM')
    await Promise.all(ending.map(each => each.ended))
    await database.drop()
  }
})
