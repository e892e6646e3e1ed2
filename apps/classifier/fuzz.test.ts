/** Sends valid and invalid requests to the classifier's routes: never 500, never a stack. */
import fc from 'fast-check'
import { test } from 'vitest'
import { openApiOf } from '../../src/http/openapi.ts'
import { at, giantBodies, harmless, logOfTrouble, requestsTo, runs, seed } from '../../test/http/fuzzing.ts'
import { doorOf } from '../../test/http/support.ts'
import { routesOf } from './routes/index.ts'
import { classifierDoor } from './test/door.ts'

test('a route of the classifier answers as its document says, whatever it is asked', async () => {
  const { engine, runs: home, execution, executions, act, project, run } = await classifierDoor()
  const routes = routesOf(home)
  const { fetch } = doorOf(engine, { routes, log: logOfTrouble() })
  const of = await project({ max_retries_documento: 0 })
  const over = await execution(['a.pdf', 'falha', 'pula'], of)
  await run()
  const [paused] = (await executions(2, ['b', 'falha'], of)) as [string, string]
  await act(paused, 'pausar')
  // A stream has no end; other tests check the form.
  const asked = routes.filter(({ answers }) => answers !== 'text/event-stream')
  const document = openApiOf(asked)
  for (const route of asked) {
    const property = fc.asyncProperty(
      requestsTo(route, document, [over, paused, of, 'a.pdf']),
      async ({ url, ...init }) => {
        await harmless(fetch, new Request(url, init))
      },
    )
    await fc.assert(property, { seed, numRuns: runs * 2 })
  }
})

test('a list goes on behind any place, also one that no list has', async () => {
  const { engine, runs: home, execution, project } = await classifierDoor()
  const { fetch } = doorOf(engine, { routes: routesOf(home), log: logOfTrouble() })
  const id = await execution(['a'], await project())
  const lists = [
    '/projetos',
    '/execucoes',
    ...['documentos', 'erros', 'resultados'].map(list => `/execucoes/${id}/${list}`),
  ]
  for (const list of lists)
    for (const after of ['1', '2147483647', '2147483648', '9007199254740993', '999999999999999999', '9'.repeat(30)])
      await harmless(fetch, new Request(`http://127.0.0.1:3000${list}?after=${after}`))
})

test('lists, objects and texts without end take the process neither long nor much memory, wherever they stand', async () => {
  const { engine, runs: home } = await classifierDoor()
  const routes = routesOf(home)
  const { fetch } = doorOf(engine, { routes, log: logOfTrouble() })
  const document = openApiOf(routes)
  for (const route of routes)
    for (const body of giantBodies(route, document)) {
      const headers = { 'content-type': 'application/json' }
      const url = at + route.path.replace(/\{\w+\}/g, '1')
      await harmless(fetch, new Request(url, { method: route.method.toUpperCase(), body, headers }))
    }
})
