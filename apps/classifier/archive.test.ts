/** A ZIP of documents over HTTP: each file is a document with its path, within the limits of an execution. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Part } from 'retoma/http'
import { expect, onTestFinished, test } from 'vitest'
import { deflatedBomb, type ZipEntry, zipOf } from '../planner/test/zips.ts'
import { sweepFolders } from './archive.ts'
import { receiveFiles } from './documents.ts'
import { classifierDoor } from './test/door.ts'

type Door = Awaited<ReturnType<typeof classifierDoor>>

interface Sent {
  name: string
  bytes: Uint8Array | string
}

async function send({ fetch, project }: Door, files: readonly Sent[], type = 'application/zip') {
  const data = new FormData()
  data.set('projeto_id', await project())
  for (const { name, bytes } of files)
    data.append('arquivos', new File([bytes as Uint8Array<ArrayBuffer>], name, { type }), name)
  const response = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body: data }))
  return { status: response.status, body: (await response.json()) as { id: string } }
}

async function codesOf({ ask }: Door, id: string): Promise<string[]> {
  const { items } = (await ask('GET', `/execucoes/${id}/documentos`)).body
  return items.map(({ codigo }: { codigo: string }) => codigo)
}

const text = (name: string, bytes = name): ZipEntry => ({ name, bytes })

test('each file of a ZIP is a document with its path; folders and notes of operating systems are none', async () => {
  const door = await classifierDoor()
  const zip = zipOf([
    text('contratos/', ''),
    text('contratos/2030/um.txt'),
    text('contratos/dois.pdf'),
    text('__MACOSX/contratos/._um.txt'),
    text('contratos/.DS_Store'),
    text('dentro.zip', zipOf([text('a.txt')]).toString('latin1')),
  ])
  const { status, body } = await send(door, [
    { name: 'lote.zip', bytes: zip },
    { name: 'contratos/2030/um.txt', bytes: 'outro' },
  ])
  expect({ status, body }).toMatchObject({ status: 201, body: { total: 4 } })
  const codes = ['contratos/2030/um.txt', 'contratos/dois.pdf', 'dentro.zip', 'contratos/2030/um.txt (2)']
  expect(await codesOf(door, body.id)).toEqual(codes)
  const one = await door.ask('GET', `/execucoes/${body.id}/documentos/${encodeURIComponent(codes[0]!)}`)
  expect(one).toMatchObject({ status: 200, body: { codigo: codes[0] } })
  const { rows } = await door.engine.query<{ name: string }>('select name from retoma.file order by id')
  expect(rows.map(({ name }) => name)).toEqual(['um.txt', 'dois.pdf', 'dentro.zip', 'um.txt'])
})

/** The bytes of the stored files, in the order of the ZIP. */
async function storedBytes({ engine }: Door): Promise<string[]> {
  const { rows } = await engine.query<{ bytes: Buffer }>('select bytes from retoma.file_chunk order by file_id, n')
  return rows.map(({ bytes }) => bytes.toString())
}

test('two files of a ZIP with the same name, or with names that differ in case, keep their own bytes', async () => {
  const door = await classifierDoor()
  const zip = zipOf([text('a.txt', 'um'), text('A.txt', 'dois'), text('a.txt', 'três')])
  const { body } = await send(door, [{ name: 'lote.zip', bytes: zip }])
  expect(await codesOf(door, body.id)).toEqual(['a.txt', 'A.txt', 'a.txt (2)'])
  expect(await storedBytes(door)).toEqual(['um', 'dois', 'três'])
})

test('the names of a ZIP from macOS and from Windows are read with their accents', async () => {
  const door = await classifierDoor()
  const unmarked = (name: Buffer): ZipEntry => ({
    name: name.toString('latin1'),
    bytes: 'x',
    flags: 0,
    names: 'latin1',
  })
  const zip = zipOf([
    unmarked(Buffer.from('Petição/açaí.txt'.normalize('NFD'))),
    unmarked(Buffer.from('Peti\x87\xc6o/a\x87a\xa1.txt', 'latin1')),
    text('Petição/maçã.txt'),
  ])
  const { body } = await send(door, [{ name: 'lote.zip', bytes: zip }])
  expect(await codesOf(door, body.id)).toEqual(['Petição/açaí.txt', 'Petição/açaí.txt (2)', 'Petição/maçã.txt'])
})

test('the files of a ZIP count: 2,000 are taken, 2,001 are refused before any is unpacked, and nothing is left', async () => {
  const door = await classifierDoor()
  const many = (count: number) => zipOf(Array.from({ length: count }, (_, n) => text(`${n}.txt`, 'x')))
  expect(await send(door, [{ name: 'a.zip', bytes: many(2001) }])).toMatchObject({
    status: 413,
    body: { error: { code: 'too_many_documents', most: 2000 } },
  })
  const two = [many(1), many(2000)].map((bytes, n) => ({ name: `${n}.zip`, bytes }))
  expect(await send(door, two)).toMatchObject({ status: 413 })
  expect((await door.ask('GET', '/execucoes')).body.items).toEqual([])
  expect((await door.engine.query('select from retoma.file')).rows).toEqual([])
})

test.each([
  ['no ZIP', Buffer.from('PK\x03\x04 nothing', 'latin1')],
  ['an empty ZIP', zipOf([])],
  ['a path out of its folder', zipOf([text('a.txt'), text('../../etc/passwd')])],
  ['an absolute path', zipOf([text('/etc/passwd')])],
  ['a password', zipOf([text('a.txt'), { ...text('b.txt'), flags: 0x0801 }])],
  ['more bytes than declared', zipOf([text('a.txt'), { name: 'b.txt', bytes: 'xyz'.repeat(1000), declared: 10 }])],
  [
    'broken bytes',
    zipOf([text('a.txt'), { name: 'b.txt', bytes: '', packed: { bytes: Buffer.from('zzzz'), size: 9 } }]),
  ],
  ['a bomb', zipOf([text('a.txt'), { name: 'b.txt', bytes: '', packed: deflatedBomb(1100) }])],
  ['a bomb that declares little', zipOf([{ name: 'b.txt', bytes: '', packed: deflatedBomb(60), declared: 10 }])],
])('%s: the ZIP itself is the document, and none of its files is left', async (_, bytes) => {
  const door = await classifierDoor()
  const { status, body } = await send(door, [{ name: 'lote.zip', bytes }])
  expect({ status, body }).toMatchObject({ status: 201, body: { total: 1 } })
  expect(await codesOf(door, body.id)).toEqual(['lote.zip'])
  expect((await door.engine.query('select from retoma.file')).rows).toHaveLength(1)
})

test('all ZIPs of a request share one budget of unpacked bytes, and a request beyond the budget leaves nothing', async () => {
  const { engine } = await classifierDoor()
  const receive = (zips: readonly Buffer[], unpackedBytes: number) => {
    async function* parts() {
      for (const [n, zip] of zips.entries())
        yield {
          field: 'arquivos',
          file: { name: `${n}.zip`, path: `${n}.zip`, type: 'application/zip', bytes: bytesOf(zip) },
        }
    }
    return receiveFiles(engine, parts() as AsyncIterable<Part>, async () => {}, { unpackedBytes })
  }
  async function* bytesOf(zip: Buffer) {
    yield new Uint8Array(zip)
  }
  const zip = zipOf([text('a.txt', 'x'.repeat(600))])
  // A ZIP may declare smaller sizes than it has, and the bytes count also if the ZIP is damaged.
  const silent = zipOf([text('b.txt', 'y'.repeat(300)), { name: 'c.txt', bytes: 'z'.repeat(300), declared: 10 }])
  expect((await receive([zip, zip], 1200)).documents).toHaveLength(2)
  const left = (await engine.query('select from retoma.file')).rows.length
  const refused = { code: 'archives_too_large', status: 413 }
  await expect(receive([zip, zip], 1199)).rejects.toMatchObject(refused)
  await expect(receive([silent, zip], 899)).rejects.toMatchObject(refused)
  expect((await engine.query('select from retoma.file')).rows).toHaveLength(left)
})

test('folders of processes that died are removed after a day, and others stay', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'retoma-sweep-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  for (const name of ['retoma-zip-old', 'retoma-zip-new', 'other']) mkdirSync(join(parent, name))
  const before = new Date(Date.now() - 25 * 3600 * 1000)
  for (const name of ['retoma-zip-old', 'other']) utimesSync(join(parent, name), before, before)
  await sweepFolders(join(parent, 'retoma-zip-new'))
  expect(readdirSync(parent).sort()).toEqual(['other', 'retoma-zip-new'])
})

test('a file of a ZIP that is too large is refused by its name', async () => {
  const door = await classifierDoor()
  const zip = zipOf([{ name: 'pasta/grande.txt', bytes: '', packed: deflatedBomb(51) }])
  expect(await send(door, [{ name: 'lote.zip', bytes: zip }])).toMatchObject({
    status: 413,
    body: { error: { code: 'document_too_large', name: 'grande.txt', megabytes: 50 } },
  })
  expect((await door.engine.query('select from retoma.file')).rows).toEqual([])
})

test('an Office file is one document, whatever type its sender declares', async () => {
  const door = await classifierDoor()
  const docx = zipOf([text('[Content_Types].xml'), text('word/document.xml')])
  const { body } = await send(door, [
    { name: 'contrato.docx', bytes: docx },
    { name: 'contrato.zip', bytes: docx },
  ])
  expect(await codesOf(door, body.id)).toEqual(['contrato.docx', 'contrato.zip'])
})
