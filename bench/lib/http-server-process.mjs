/** The API as in `retoma serve`, on a free port, with a no-op kind; ends with the parent process. */

import { createApp } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, defineJob } from '../../dist/index.js'

const { url } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const engine = await createEngine({ databaseUrl: url, jobs: [defineJob({ kind: 'noop', run: () => null })] })
engine.watch()
const server = await listen(createApp(engine), '127.0.0.1', 0)
process.send({ port: server.port })
