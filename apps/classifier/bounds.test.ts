/** Too many documents are refused before any document is checked. */
import { expect, test } from 'vitest'
import { classifierDoor } from './test/door.ts'

test('2,001 documents and 400,000 are refused with 413, whatever is in them', async () => {
  const { ask, project } = await classifierDoor()
  const projeto_id = await project()
  for (const many of [2001, 400_000]) {
    const documentos = new Array(many).fill(7)
    const { status, body } = await ask('POST', '/execucoes', { body: { projeto_id, documentos } })
    expect(status).toBe(413)
    expect(body.error.code).toMatch(/^too_many_/)
  }
})

test('of three files of which one part cannot be read nothing is made, and the answer names its position', async () => {
  const { fetch, ask, engine, project } = await classifierDoor()
  const file = (disposition: string) => `--b\r\nContent-Disposition: ${disposition}\r\n\r\ntext\r\n`
  const named = (n: number) => file(`form-data; name="arquivos"; filename="${n}.txt"`)
  const body = `${file('form-data; name="projeto_id"').replace('text', await project())}${named(1)}${file('form-data; name="arquivos; filename="2.txt')}${named(3)}--b--\r\n`
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const response = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body, headers }))
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: 'bad_request', part: 3 } })
  expect((await ask('GET', '/execucoes')).body.items).toEqual([])
  expect((await engine.query('select from retoma.file')).rows).toEqual([])
})

test('a form that names two projects is refused, and nothing is made', async () => {
  const { fetch, ask, project } = await classifierDoor()
  const part = (disposition: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`
  const body = [
    part('name="projeto_id"', await project()),
    part('name="arquivos"; filename="1.txt"', 'text'),
    part('name="projeto_id"', await project()),
    '--b--\r\n',
  ].join('')
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const response = await fetch(new Request('http://127.0.0.1:3000/execucoes', { method: 'POST', body, headers }))
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: 'bad_request', field: 'projeto_id' } })
  expect((await ask('GET', '/execucoes')).body.items).toEqual([])
})
