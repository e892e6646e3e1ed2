/** The documents as they are deployed: `serve` answers, and a worker for PDFs alone works, with nothing in common but the database. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { goodPdf } from '../../apps/classifier/test/pdfs.ts'
import { migratedDatabase } from '../support/database.ts'
import { folderWith, start } from './support.ts'

const documents = fileURLToPath(new URL('../../apps/documents/dist/index.js', import.meta.url))
const config = `import { documents } from '${documents}'
export default { systems: [documents()] }
`

test('serve takes uploads while no worker runs, and retoma worker --queues documents:4 processes them', async () => {
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
    expect(await list()).toEqual(['PENDING', 'PENDING'])
    const args = ['worker', '--queues', 'documents:4', '--no-supervise', '--json']
    const worker = start(args, { folder: folderWith(files), env })
    ending.push(worker)
    expect(JSON.parse(await worker.said('}\n'))).toMatchObject({ queues: { documents: 4 } })
    await expect.poll(list, { interval: 200 }).toEqual(['DONE', 'DONE'])
  } finally {
    for (const each of ending) each.tell('SIGTERM')
    await Promise.all(ending.map(each => each.ended))
    await database.drop()
  }
})
