import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { doorWith } from './support.ts'

const hello = defineJob({ kind: 'hello', run: () => 'ok' })

test('the workers there are are listed as the command line lists them', async () => {
  const { ask, engine } = await doorWith([hello])
  expect((await ask('GET', '/api/v1/workers')).body).toEqual({ items: [], next: null })
  await engine.work()
  const { status, body } = await ask('GET', '/api/v1/workers')
  expect(status).toBe(200)
  expect(body.items).toMatchObject([{ kinds: ['hello'], queues: { default: 10 }, dead: false }])
})

test('a route that is not there is told in the language that was asked for', async () => {
  const { ask } = await doorWith()
  expect((await ask('GET', '/api/v1/nothing')).body.error.message).toBe('there is nothing at GET /api/v1/nothing')
  const portuguese = await ask('GET', '/api/v1/nothing', { headers: { 'accept-language': 'pt-BR' } })
  expect(portuguese.body.error.message).toBe('não há nada em GET /api/v1/nothing')
})
