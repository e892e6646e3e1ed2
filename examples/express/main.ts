/**
 * Retoma inside an Express app, below /retoma: its API, its events, its documentation at /retoma/api/docs.
 *
 * DATABASE_URL=postgres://… PORT=3000 npm start
 */
import express from 'express'
import { createEngine, defineBatch, defineJob } from 'retoma'
import { createApp, toNodeHandler } from 'retoma/http'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })
const engine = await createEngine({ jobs: [hello], batches: [defineBatch({ name: 'hellos', job: hello })] })
await engine.work()

// Your app identifies the user, from your log-in; here the user is always Ana.
const who = () => ({ user: 'ana', role: 'admin' as const })
const options = { basePath: '/retoma', who }

const app = express()
app.use(express.json())
app.use('/retoma', toNodeHandler(createApp(engine, options)))
app.get('/', (_, response) => void response.send('an app of yours'))

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}/retoma`)
})
process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await engine.close()
})
