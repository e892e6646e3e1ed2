/** Server and worker of the documents in one process, for kill.test.ts. Prints the port. */
import { createServer } from 'node:http'
import { createApp, toNodeHandler } from '../../../dist/http/index.js'
import { createEngine } from '../../../dist/index.js'
import { documents } from '../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const system = documents()
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
await engine.work({ queues: system.queues })
const server = createServer(toNodeHandler(createApp(engine, { routes: system.routes, open: true })))
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
