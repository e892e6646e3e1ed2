/** `retoma notify test` as an operator types it. */
import { expect, test } from 'vitest'
import { answerWith, webhook } from '../support/webhook.ts'
import { folderWith, run } from './support.ts'

test('it posts one notice and says what came back', async () => {
  const hook = await webhook()
  const folder = folderWith()
  const env = { RETOMA_NOTIFY_URL: hook.url, RETOMA_NOTIFY_SECRET: 'whsec-1', PUBLIC_URL: 'https://retoma.example.com' }
  const { code, stdout } = await run(['notify', 'test', '--json'], { folder, env })
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, sent: true, status: 204, signed: true })
  expect(hook.posts.map(each => each.notice)).toMatchObject([
    {
      event: 'test',
      severity: 'info',
      link: 'https://retoma.example.com',
      sentence: expect.stringContaining('This is a test'),
    },
  ])
  const portuguese = await run(['notify', 'test'], {
    folder,
    env: { RETOMA_NOTIFY_URL: hook.url, RETOMA_NOTIFY_LANGUAGE: 'pt' },
  })
  expect(portuguese).toMatchObject({ code: 0, stdout: expect.stringMatching(/answered 204 within \d+ ms; unsigned/) })
  expect(hook.posts[1]!.notice.sentence).toContain('Isto é um teste')
})

test('without an address it is wrong use; a webhook that refuses, or that nobody answers for, is a failure that does not name it', async () => {
  const folder = folderWith()
  expect(await run(['notify', 'test'], { folder })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('RETOMA_NOTIFY_URL'),
  })
  const hook = await webhook()
  hook.answers(answerWith(403))
  const env = { RETOMA_NOTIFY_URL: hook.url, RETOMA_NOTIFY_SECRET: 'whsec-1' }
  const refused = await run(['notify', 'test'], { folder, env })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('status 403') })
  const nobody = await run(['notify', 'test'], {
    folder,
    env: { ...env, RETOMA_NOTIFY_URL: 'http://127.0.0.1:9/T0SECRETPATH', LOG_LEVEL: 'debug' },
  })
  expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') })
  for (const { stdout, stderr } of [refused, nobody]) expect(stdout + stderr).not.toMatch(/T0SECRETPATH|whsec/)
})
