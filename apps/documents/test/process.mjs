/**
 * A process of the documents, for the kill tests; its settings are the environment. The arguments are the queues of a worker, and `serve`
 * for the server. Prints the port of the server.
 */
import { createServer } from 'node:http'
import { createApp, toNodeHandler } from '../../../dist/http/index.js'
import { createEngine } from '../../../dist/index.js'
import { documents } from '../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const roles = process.argv.slice(2)
const system = documents()
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
const queues = Object.fromEntries(Object.entries(system.queues).filter(([queue]) => roles.includes(queue)))
if (Object.keys(queues).length > 0) await engine.work({ queues })
if (roles.includes('serve')) {
  const server = createServer(toNodeHandler(createApp(engine, { routes: system.routes, open: true })))
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
}
