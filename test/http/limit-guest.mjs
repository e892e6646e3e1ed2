/**
 * `limit-guest.mjs URL`: a server of our own whose one route a user may ask ten times; limits.test.ts asks it from outside. In
 * ten minutes: a machine that is slow is not slower than that.
 */

import { createApp, route } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine } from '../../dist/index.js'
import { minutes } from '../../dist/lib/values/duration.js'

const uploads = route({
  method: 'post',
  path: '/uploads',
  name: 'upload',
  tag: 'documents',
  summary: 'Takes nothing',
  role: 'operator',
  limit: { bucket: 'documents', limit: 10, per: minutes(10) },
  run: () => ({ ok: true }),
})

const engine = await createEngine({ databaseUrl: process.argv[2] })
const server = await listen(createApp(engine, { routes: [uploads] }), '127.0.0.1', 0)
process.stdout.write(`${server.port}\n`)
// Until the pipe is closed, by the test's end or by its death.
for await (const _ of process.stdin);
await server.close()
await engine.close()
