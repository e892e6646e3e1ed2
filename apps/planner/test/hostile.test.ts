/** Hostile images, PDFs and tables among good ones: each ends with a reason, no worker dies, and the good ones are done. */
import { expect, test } from 'vitest'
import { plannerDoor } from './door.ts'
import { goodFiles, hostileImages, hostileTables } from './hostile.ts'

/** Damaged files that a reader may still show in part. */
const mayBeDone =
  /^truncado 0\.(?:75|9|98) |^zip e texto|^crc errado\.png|^pouco conteúdo|^perfil de cor|^texto comprimido|^nome que sobe|^coluna sem fim|^atributos demais/

test('hostile images and workbooks: each ends with a reason, no worker dies, and the good ones among them are done', async () => {
  const t = await plannerDoor()
  const hostile = [...(await hostileImages()), ...hostileTables()]
  const good = await goodFiles(10)
  const sent = new Map<string, { name: string; isGood: boolean }>()
  for (const [index, file] of hostile.entries()) {
    sent.set(await t.upload(file.route, file.bytes, file.name), { name: file.name, isGood: false })
    const other = index % 7 === 0 ? good.pop() : undefined
    if (other !== undefined)
      sent.set(await t.upload(other.route, other.bytes, other.name), { name: other.name, isGood: true })
  }
  await t.run()
  const odd: string[] = []
  for (const [id, { name, isGood }] of sent) {
    const { status, error_message } = await t.read(id)
    const isDone = status === 'COMPLETED'
    if (isGood ? !isDone : isDone ? !mayBeDone.test(name) : error_message === null)
      odd.push(`${name}: ${status} ${error_message}`)
    // A reason about the file, in Portuguese; not the end of a process.
    if (!isDone && !/arquivo|planilha|tabela|cabeçalho|célula|linha|imagem|PDF/.test(error_message ?? ''))
      odd.push(`${name}: ${error_message}`)
  }
  expect(odd).toEqual([])
  // With the 110 hostile and 40 good files of the snaps: more than 200 hostile files, and 50 good ones among them.
  expect([hostile.length, sent.size]).toEqual([132, 142])
  expect((await t.engine.workers.list()).every(({ abandoned }) => abandoned === 0)).toBe(true)
})
