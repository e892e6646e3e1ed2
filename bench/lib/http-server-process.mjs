/** The API as `retoma serve` has it, on a port of its own, with one no-op kind; ends when whoever started it does. */

import { createApp } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, defineJob } from '../../dist/index.js'

const { url } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const engine = await createEngine({ databaseUrl: url, jobs: [defineJob({ kind: 'noop', run: () => null })] })
engine.watch()
const server = await listen(createApp(engine), '127.0.0.1', 0)
process.send({ port: server.port })
