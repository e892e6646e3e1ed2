/** `retoma providers` as it is typed: which wait, and the lever. */
import { expect, onTestFinished, test } from 'vitest'
import { defineJob, hours, providerWait } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { answer, folderWith, run } from './support.ts'

test('a provider that asks to wait is listed in its words, and asked again at once by whoever clears it', async () => {
  const database = await migratedDatabase()
  const job = defineJob({
    kind: 'ask',
    run: ctx =>
      ctx.provider('openrouter', () => {
        throw providerWait({ retryAfter: hours(3), message: 'slow down' })
      }),
  })
  const here = await testEngine({ databaseUrl: database.url, jobs: [job], start: new Date() })
  onTestFinished(async () => {
    await here.close()
    await database.drop()
  })
  await here.engine.enqueue(job, undefined)
  await here.run()
  const at = { folder: folderWith({}, 'file'), env: { DATABASE_URL: database.url } }
  const { stdout } = await run(['providers'], at)
  expect(stdout).toMatch(
    /^provider +state +asked again +what it said\nopenrouter +waits +\d{4}-.* \(in [23] hr\.\) +slow down\n$/,
  )
  const portuguese = { ...at, env: { ...at.env, LANG: 'pt_BR.UTF-8' } }
  expect((await run(['providers', 'clear', 'openrouter'], portuguese)).stdout).toBe(
    'openrouter volta a ser consultado agora; o que esperava por ele continua\n',
  )
  expect(await answer(['providers', 'clear', 'openrouter'], at)).toEqual({
    name: 'openrouter',
    state: 'open',
    changed: false,
  })
  expect(await run(['providers', 'clear', 'nobody'], at)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('not_found'),
  })
})
