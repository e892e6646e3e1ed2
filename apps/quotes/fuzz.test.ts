/** Sends valid and invalid requests to the routes of the quotes: never 500, never a stack. */
import fc from 'fast-check'
import { test } from 'vitest'
import { openApiOf } from '../../src/http/openapi.ts'
import { harmless, logOfTrouble, requestsTo, runs, seed } from '../../test/http/fuzzing.ts'
import { doorOf } from '../../test/http/support.ts'
import { quotesDoor } from './test/door.ts'

test('a route of the quotes answers as its document says, whatever it is asked', async () => {
  const { engine, batch, quote, run, system } = await quotesDoor()
  const { fetch } = doorOf(engine, { routes: system.routes, log: logOfTrouble() })
  const [over, many] = [await quote('cadeira'), await batch(['mesa'])]
  await run()
  const waiting = await quote('sofá')
  // A stream has no end; other tests check the form.
  const asked = system.routes.filter(({ answers }) => answers !== 'text/event-stream')
  const document = openApiOf(asked)
  for (const route of asked) {
    const property = fc.asyncProperty(requestsTo(route, document, [over, many, waiting]), async ({ url, ...init }) => {
      await harmless(fetch, new Request(url, init))
    })
    await fc.assert(property, { seed, numRuns: runs * 2 })
  }
})
