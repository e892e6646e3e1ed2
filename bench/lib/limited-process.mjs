/** `node limited-process.mjs '{"url":…}'`: a server with a route limited to ten requests a minute per user; reports the port. */
import { createApp, route } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, minutes } from '../../dist/index.js'

const { url } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const uploads = route({
  method: 'post',
  path: '/uploads',
  name: 'upload',
  tag: 'documents',
  summary: 'Takes nothing',
  role: 'operator',
  limit: { bucket: 'documents', limit: 10, per: minutes(1) },
  run: () => ({ ok: true }),
})
const engine = await createEngine({ databaseUrl: url, rateLimits: 'postgresql' })
const { port } = await listen(createApp(engine, { routes: [uploads] }), '127.0.0.1', 0)
process.send({ port })
