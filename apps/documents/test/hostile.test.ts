/**
 * Hostile PDFs, each read by a process of its own: DONE or FAILED with a reason, and the worker goes on. All hundred, with the memory of the
 * processes: `npm run prove -- --only documents`.
 */
import { seconds } from 'retoma'
import { expect, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { liveEngine, until } from '../../../test/support/engine.ts'
import { goodPdf } from '../../classifier/test/pdfs.ts'
import { documents } from '../index.ts'
import { pdfReader } from '../pdf/reader.ts'
import { uploader } from './door.ts'
import { hundredHostile, oddPdfs } from './hostile.ts'

/** One of each sort. */
const chosen = [
  'senha aes 256.pdf',
  'zero páginas.pdf',
  'truncado 50.pdf',
  'bomba 1.pdf',
  'ruído com rosto.pdf',
  'página da web.pdf',
  'danificado 7.pdf',
]

test('hostile PDFs end DONE or FAILED with a reason, scripts and attachments stay where they are, and good ones are read', async () => {
  // A file that computes for ever gets less time than a document that a person wants to have read.
  const [usual, short] = [pdfReader(), pdfReader(seconds(5))]
  const system = documents({
    settings: { concurrency: 4 },
    read: (ctx, path, name) => (name.startsWith('bomba') ? short : usual)(ctx, path, name),
  })
  const { engine } = await liveEngine([], { systems: [system], rateLimits: 'off' })
  const { fetch, ask } = doorOf(engine, { routes: system.routes })
  const upload = uploader(fetch)
  const hostile = hundredHostile()
  expect(hostile).toHaveLength(100)
  const odd = oddPdfs()
  const good = { name: 'bom.pdf', bytes: goodPdf(['Contrato de locação para as partes\nque não se opõem', 'Fim']) }
  const worker = await engine.work({ queues: { documents: 2 } })
  const ended = async ({ name, bytes }: { name: string; bytes: Buffer }) => {
    const { status, body } = await upload(bytes, { name })
    if (status === 415) return { name, status: 'refused', error_message: body.error.message, id: '' }
    expect(status, name).toBe(202)
    let seen = body
    await until(async () => {
      seen = (await ask('GET', `/api/documents/${body.id}`)).body
      return seen.status === 'DONE' || seen.status === 'FAILED'
    })
    return { name, ...seen }
  }
  const files = [...chosen.map(name => hostile.find(each => each.name === name)!), ...odd, good]
  const all = await Promise.all(files.map(ended))
  const of = (name: string) => all.find(each => each.name === name)!
  for (const { name, status, error_message: message, pages } of all) {
    expect(['DONE', 'FAILED', 'refused'], name).toContain(status)
    if (status === 'DONE') expect(pages, name).toBeGreaterThanOrEqual(1)
    else expect(message, name).toMatch(/PDF/)
  }
  expect(of('senha aes 256.pdf').error_message).toBe('o PDF está protegido por senha')
  expect(of('zero páginas.pdf').status).toBe('FAILED')
  expect(of('truncado 50.pdf').error_message).toBe('o PDF está incompleto: falta o fim do arquivo')
  expect(of('bomba 1.pdf').status).toBe('FAILED')
  expect(of('página da web.pdf').status).toBe('refused')
  for (const { name, pages } of odd) expect(of(name), name).toMatchObject({ status: 'DONE', pages })
  expect(of('5000 páginas.pdf')).toMatchObject({ text_complete: false })
  expect(of('bom.pdf')).toMatchObject({ status: 'DONE', pages: 2, language: 'pt', text_complete: true })
  expect(of('bom.pdf').title).toBe('Contrato de locação para as partes')
  expect((await ask('GET', `/api/documents/${of('bom.pdf').id}/text`)).body).toContain('que não se opõem')
  const picture = await ask('GET', of('bom.pdf').thumbnail_url)
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/webp'])
  expect(picture.body.slice(0, 4)).toBe('RIFF')
  expect((await engine.workers.list()).map(({ id }) => id)).toEqual([worker.id])
})
