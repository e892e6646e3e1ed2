/** Hostile images, PDFs and tables among good ones: each ends with a reason, no worker dies, and the good ones are done. */
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { plannerDoor } from './door.ts'
import { goodFiles, hostileImages, hostileTables, payloads } from './hostile.ts'
import { expectedCodes } from './hostile-codes.ts'

test('hostile images and workbooks: each ends with its code and a reason, no worker dies, and the good ones among them are done', async () => {
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
    const code = (await t.engine.job(id))!.error?.code ?? null
    // A file beyond the time of its process would have the code planner_file_timeout.
    const expected = isGood ? null : expectedCodes.get(name)
    if (code !== expected || status !== (expected === null ? 'COMPLETED' : 'FAILED'))
      odd.push(`${name}: ${status} ${code} in place of ${expected}`)
    // A reason about the file, in Portuguese; not the end of a process.
    if (status === 'FAILED' && !/arquivo|planilha|tabela|cabeçalho|célula|linha|imagem|PDF/.test(error_message ?? ''))
      odd.push(`${name}: ${error_message}`)
    // The thumbnails of a file with something besides its pixels have the pixels alone.
    if (expected !== null || isGood) continue
    for (const size of ['small', 'large']) {
      const url = `http://127.0.0.1:3000/api/planner/jobs/${id}/thumbnails/${size}`
      const bytes = Buffer.from(await (await t.fetch(new Request(url))).arrayBuffer())
      const { format, exif, xmp, iptc } = await sharp(bytes).metadata()
      if (format !== 'webp' || [exif, xmp, iptc].some(each => each !== undefined)) odd.push(`${name}: not pixels alone`)
      for (const payload of Object.values(payloads))
        if (bytes.includes(payload.subarray(0, 20))) odd.push(`${name}: ${payload}`)
    }
  }
  expect(odd).toEqual([])
  // With the 110 hostile and 40 good files of the snaps: more than 200 hostile files, and 50 good ones among them.
  expect([hostile.length, sent.size]).toEqual([141, 151])
  expect((await t.engine.workers.list()).every(({ abandoned }) => abandoned === 0)).toBe(true)
})

test('a file over 100 MB is 413 with its name, and nothing is left of the file', async () => {
  const t = await plannerDoor()
  const large = new Uint8Array(100 * 1024 * 1024 + 1)
  const refused = await t.upload('generate-thumbnail', large, 'foto.jpg', { 'accept-language': 'pt' }).catch(String)
  expect(refused).toContain('"planner_file_too_large"')
  expect(refused).toContain('foto.jpg tem mais de 100 MB')
  expect((await t.engine.query(`select from retoma.file`)).rowCount).toBe(0)
})
