/** What a request to the classifier may hold has bounds, and too many documents are refused before any is looked at. */
import { expect, test } from 'vitest'
import { unboundedIn } from '../../test/http/request-schemas.ts'
import { createClassifier } from './index.ts'
import { classifierDoor } from './test/door.ts'

test('every list, text and object that a request to the classifier may hold has a maximum', () => {
  expect(
    unboundedIn(createClassifier({ openRouter: { model: 'm', url: 'http://127.0.0.1' } as never }).routes ?? []),
  ).toEqual([])
})

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
