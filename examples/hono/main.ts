/**
 * Retoma inside a Hono app, below /retoma: its API, its events, its documentation at /retoma/api/docs.
 *
 * DATABASE_URL=postgres://… PORT=3000 npm start
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createEngine, defineBatch, defineJob } from 'retoma'
import { createApp } from 'retoma/http'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })
const engine = await createEngine({ jobs: [hello], batches: [defineBatch({ name: 'hellos', job: hello })] })
await engine.work()

// Your app identifies the user, from your log-in; here the user is always Ana.
const who = () => ({ user: 'ana', role: 'admin' as const })
const options = { basePath: '/retoma', who }
const retoma = createApp(engine, options)

const app = new Hono()
app.all('/retoma/*', context => retoma.fetch(context.req.raw))
app.get('/', context => context.text('an app of yours'))

const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/retoma`)
})
process.once('SIGTERM', async () => {
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await engine.close()
})
