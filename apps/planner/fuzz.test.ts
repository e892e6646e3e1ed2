/** Sends valid and invalid requests to the routes of the planner: never 500, never a stack. */
import fc from 'fast-check'
import { test } from 'vitest'
import { openApiOf } from '../../src/http/openapi.ts'
import { harmless, logOfTrouble, requestsTo, runs, seed } from '../../test/http/fuzzing.ts'
import { doorOf } from '../../test/http/support.ts'
import { plannerDoor, smallProblem } from './test/door.ts'

test('a route of the planner answers as its document says, whatever it is asked', async () => {
  const { engine, generate, upload, system } = await plannerDoor()
  const { fetch } = doorOf(engine, { routes: system.routes, log: logOfTrouble() })
  const ids = [await generate(smallProblem), await upload('extract-demand', Buffer.from('data;hora\n'), 'v.csv')]
  // Other tests send forms.
  const asked = system.routes.filter(({ upload }) => upload === undefined)
  const document = openApiOf(asked)
  for (const route of asked) {
    const property = fc.asyncProperty(requestsTo(route, document, ids), async ({ url, ...init }) => {
      await harmless(fetch, new Request(url, init))
    })
    await fc.assert(property, { seed, numRuns: runs * 2 })
  }
})
