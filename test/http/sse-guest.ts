/** A server process of its own for sse-server.test.ts, which kills it: `sse-guest.ts DATABASE_URL PORT`; says when it listens. */
import { createApp } from '../../src/http/index.ts'
import { listen } from '../../src/http/server.ts'
import { createEngine } from '../../src/index.ts'

const [url, port] = process.argv.slice(2) as [string, string]
process.stdin.on('close', () => process.exit(1)).resume()
const engine = await createEngine({ databaseUrl: url, migrate: false })
const server = await listen(createApp(engine), '127.0.0.1', Number(port))
process.stdout.write(`${server.port}\n`)
