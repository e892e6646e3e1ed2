/** Sends valid and invalid requests to the routes of the documents: never 500, never a stack. */
import fc from 'fast-check'
import { test } from 'vitest'
import { openApiOf } from '../../src/http/openapi.ts'
import { harmless, logOfTrouble, requestsTo, runs, seed } from '../../test/http/fuzzing.ts'
import { doorOf } from '../../test/http/support.ts'
import { cronSecret, documentsDoor } from './test/door.ts'

test('a route of the documents answers as its document says, whatever it is asked', async () => {
  const { engine, send, work, system } = await documentsDoor({}, { rateLimits: 'off' })
  const { fetch } = doorOf(engine, { routes: system.routes, log: logOfTrouble(), cronSecret })
  const over = await send()
  await work()
  const waiting = await send()
  const document = openApiOf(system.routes)
  // Other tests send hostile forms.
  for (const route of system.routes.filter(({ upload }) => upload === undefined)) {
    const property = fc.asyncProperty(requestsTo(route, document, [over, waiting]), async ({ url, ...init }) => {
      await harmless(fetch, new Request(url, init))
    })
    await fc.assert(property, { seed, numRuns: runs * 2 })
  }
})
