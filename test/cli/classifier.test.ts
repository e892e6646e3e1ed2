/** The classifier as it is deployed: `serve` and `worker` with nothing in common but the database. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { migratedDatabase } from '../support/database.ts'
import { classifierConfig, folderWith, start } from './support.ts'

const pdfs = fileURLToPath(new URL('../../examples/classifier/pdfs.mjs', import.meta.url))

test('serve and worker in different folders, on one database: 20 PDFs are classified, and downloads are what was sent', async () => {
  const database = await migratedDatabase()
  const env = { DATABASE_URL: database.url, PORT: '0' }
  const files = { 'retoma.config.ts': classifierConfig }
  const here = folderWith(files)
  const serve = start(['serve', '--json'], { folder: here, env })
  const worker = start(['worker', '--queues', 'classifier:20', '--no-supervise', '--json'], {
    folder: folderWith(files),
    env,
  })
  try {
    const { address } = JSON.parse(await serve.said('}\n')) as { address: string }
    expect(JSON.parse(await worker.said('}\n'))).toMatchObject({
      queues: { classifier: 20 },
      simulated: ['openrouter'],
    })
    const ask = async (path: string, body?: string | FormData) => {
      const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
      return fetch(`${address}${path}`, body === undefined ? {} : { method: 'POST', headers, body })
    }
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
    const read = async (path: string, body?: string | FormData): Promise<any> => (await ask(path, body)).json()
    const categorias = ['Contrato', 'Nota fiscal', 'Petição']
    const { id: projeto } = await read('/projetos', JSON.stringify({ nome: 'Cartório', categorias }))

    execFileSync(process.execPath, [pdfs, join(here, 'documentos')])
    const name = (n: number) =>
      `${String(n).padStart(2, '0')}-${n <= 4 ? 'contrato' : n <= 7 ? 'nota-fiscal' : 'peticao'}.pdf`
    const names = Array.from({ length: 10 }, (_, n) => name(n + 1))
    const bytes = (each: string) => readFileSync(join(here, 'documentos', each))
    const form = new FormData()
    form.set('projeto_id', projeto)
    for (const each of [...names, ...names]) form.append('arquivos', new Blob([bytes(each)]), each)
    const { id, total } = await read('/execucoes', form)
    expect(total).toBe(20)
    const status = async () => (await read(`/execucoes/${id}/status-detalhado`)).status
    await expect.poll(status, { interval: 200 }).toBe('CONCLUIDO')

    const { items } = await read(`/execucoes/${id}/resultados`)
    expect(items).toHaveLength(20)
    const found = Object.fromEntries(
      items.map((each: { codigo: string; categoria: string }) => [each.codigo, each.categoria]),
    )
    expect([found['01-contrato.pdf'], found['06-nota-fiscal.pdf'], found['10-peticao.pdf (2)']]).toEqual(categorias)
    const download = await ask(`/execucoes/${id}/documentos/${names[7]}/arquivo`)
    expect(Buffer.from(await download.arrayBuffer())).toEqual(bytes(names[7]!))
  } finally {
    for (const each of [serve, worker]) each.tell('SIGTERM')
    await Promise.all([serve.ended, worker.ended])
    await database.drop()
  }
})
