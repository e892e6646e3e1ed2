/**
 * Retoma inside a Fastify app, below /retoma: its API, its events, its documentation at /retoma/api/docs.
 *
 * DATABASE_URL=postgres://… PORT=3000 npm start
 */
import Fastify from 'fastify'
import { createEngine, defineBatch, defineJob } from 'retoma'
import { createApp, toNodeHandler } from 'retoma/http'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })
const engine = await createEngine({ jobs: [hello], batches: [defineBatch({ name: 'hellos', job: hello })] })
await engine.work()

// Your app identifies the user, from your log-in; here the user is always Ana.
const who = () => ({ user: 'ana', role: 'admin' as const })
const options = { basePath: '/retoma', who }
const handle = toNodeHandler(createApp(engine, options))

const fastify = Fastify({ forceCloseConnections: true })
await fastify.register(
  async within => {
    // Fastify must not parse bodies: Retoma reads and limits the bodies.
    within.removeAllContentTypeParsers()
    within.addContentTypeParser('*', (_request, _body, done) => done(null))
    for (const path of ['/', '/*'])
      within.all(path, (request, reply) => {
        reply.hijack()
        return handle(request.raw, reply.raw)
      })
  },
  { prefix: '/retoma' },
)
fastify.get('/', () => 'an app of yours')

console.log(`${await fastify.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })}/retoma`)
process.once('SIGTERM', async () => {
  await fastify.close()
  await engine.close()
})
