/** The documents of the example with Next.js, on the virtual clock: examples/next.test.ts runs the whole example. */
import { expect, test } from 'vitest'
import { lostDocuments, processDocument, table } from '../../examples/next/documents.ts'
import { defineJob, type JobContext, minutes } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'

test('a document that is DONE stays DONE if the process dies before the end of the job and a second attempt runs', async () => {
  const run = processDocument.run as (ctx: JobContext, input: unknown) => Promise<unknown>
  const dying = defineJob({
    kind: 'dying',
    async run(ctx, input: { document: string; file: string }) {
      await run(ctx, input)
      if (ctx.attempt === 1) throw new Error('the process died after the last step')
    },
  })
  const t = await engineOf({ jobs: [dying], guards: [lostDocuments] })
  await t.engine.query(table)
  const insert = `insert into documents (filename, status) values ('a.pdf', 'PENDING') returning id::text as id`
  const { id } = (await t.engine.query<{ id: string }>(insert)).rows[0]!
  const file = await t.engine.files.put([Buffer.from('%PDF-')], { name: 'a.pdf', type: 'application/pdf' })
  const job = await t.engine.enqueue(dying, { document: id, file: file.id })
  for (let n = 0; n < 2; n++) {
    await t.run()
    await t.clock.advance(minutes(11))
  }
  await t.tick()
  expect(await t.engine.job(job.id)).toMatchObject({ state: 'succeeded', attempt: 2 })
  const { rows } = await t.engine.query(`select status, bytes::int as bytes, error_message from documents`)
  expect(rows).toEqual([{ status: 'DONE', bytes: 5, error_message: null }])
})
