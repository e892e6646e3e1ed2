/** Sends valid and invalid requests to the routes of the snaps: never 500, never a stack. */
import fc from 'fast-check'
import { test } from 'vitest'
import { openApiOf } from '../../src/http/openapi.ts'
import { harmless, logOfTrouble, requestsTo, runs, seed } from '../../test/http/fuzzing.ts'
import { doorOf } from '../../test/http/support.ts'
import { snapsDoor } from './test/door.ts'
import { flat } from './test/images.ts'

test('a route of the snaps answers as its document says, whatever it is asked', async () => {
  const { engine, send, run, system } = await snapsDoor()
  const { fetch } = doorOf(engine, { routes: system.routes, log: logOfTrouble() })
  const done = await send(await flat('red'))
  await run()
  const waiting = await send(await flat('blue'))
  const document = openApiOf(system.routes)
  for (const route of system.routes.filter(({ upload }) => upload === undefined)) {
    const property = fc.asyncProperty(requestsTo(route, document, [done, waiting]), async ({ url, ...init }) => {
      await harmless(fetch, new Request(url, init))
    })
    await fc.assert(property, { seed, numRuns: runs * 2 })
  }
  const types = fc.constantFrom(
    'image/png',
    'image/x',
    'image/',
    'image/*',
    'application/octet-stream; a=b',
    'IMAGE/GIF',
    'text/plain',
  )
  const body = fc.tuple(types, fc.uint8Array({ maxLength: 300 }))
  const sent = fc.asyncProperty(body, async ([type, bytes]) => {
    const init = { method: 'POST', body: bytes as Uint8Array<ArrayBuffer>, headers: { 'content-type': type } }
    await harmless(fetch, new Request('http://127.0.0.1:3000/api/snaps', init))
  })
  await fc.assert(sent, { seed, numRuns: runs * 2 })
})
