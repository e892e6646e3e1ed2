/** A server process of its own for sse-server.test.ts, which kills it: `sse-guest.mjs DATABASE_URL PORT`; says when it listens. */
import { createApp } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine } from '../../dist/index.js'

const [url, port] = process.argv.slice(2)
process.stdin.on('close', () => process.exit(1)).resume()
const engine = await createEngine({ databaseUrl: url, migrate: false })
const server = await listen(createApp(engine), '127.0.0.1', Number(port))
process.stdout.write(`${server.port}\n`)
