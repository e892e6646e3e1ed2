/** The classifier's lists are read to the end page by page: every entry comes once. */
import { expect, test } from 'vitest'
import { sqlOf } from '../../test/support/providers.ts'
import { classifierDoor } from './test/door.ts'

type Ask = Awaited<ReturnType<typeof classifierDoor>>['ask']

async function everyPage(ask: Ask, path: string, of: string, limit: number): Promise<Record<string, string>[]> {
  const entries: Record<string, string>[] = []
  for (let next: string | null = ''; next !== null; ) {
    const { status, body } = await ask('GET', `${path}?limit=${limit}${next === '' ? '' : `&after=${next}`}`)
    expect(status).toBe(200)
    entries.push(...body[of])
    next = body.next
    expect(entries.length, 'a page repeats entries').toBeLessThan(1000)
  }
  return entries
}

const newestFirst = (ids: readonly string[]): string[] => ids.toSorted((a, b) => Number(b) - Number(a))
const idsOf = (entries: readonly Record<string, string>[]) => entries.map(each => each.id)

test('25 projects read by pages of 5 are 25, the newest first, whatever the number of digits of their ids', async () => {
  const door = await classifierDoor()
  const { ask, project } = door
  for (const start of [1, 90, 990]) {
    await sqlOf(door, `delete from classifier.project; select setval('classifier.project_id_seq', ${start})`)
    const ids: string[] = []
    for (let n = 0; n < 25; n++) ids.push(await project())
    expect(idsOf(await everyPage(ask, '/projetos', 'items', 5))).toEqual(newestFirst(ids))
  }
})

test('executions, documents, errors and results are in their pages once each, past the tenth and past the hundredth', async () => {
  const door = await classifierDoor()
  const { ask, project, execution, executions } = door
  await sqlOf(door, `select setval('classifier.run_id_seq', 95), setval('classifier.document_id_seq', 7)`)
  const projeto = await project()
  const codes = Array.from({ length: 108 }, (_, n) => (n % 4 === 0 ? `doc-${n + 1}` : `falha-${n + 1}`))
  const large = await execution(codes, projeto)
  const ids = [large, ...(await executions(11, ['a'], projeto))]
  await door.run()
  expect(idsOf(await everyPage(ask, '/execucoes', 'items', 5))).toEqual(newestFirst(ids))
  const codesOf = async (list: string, of: string) =>
    (await everyPage(ask, `/execucoes/${large}/${list}`, of, 7)).map(each => each.codigo)
  expect(await codesOf('documentos', 'items')).toEqual(codes)
  expect(await codesOf('resultados', 'items')).toEqual(codes)
  expect(await codesOf('erros', 'documentos')).toEqual(codes.filter(code => code.startsWith('falha')))
})
