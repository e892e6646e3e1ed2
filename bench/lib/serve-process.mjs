/**
 * `node serve-process.mjs '{"url":…}'`: runs the API on a free port and reports the port, then twice a second the used resources. `open`: to this machine, without a
 * log-in.
 */
import { createApp } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine } from '../../dist/index.js'

const { url, open = false } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const engine = await createEngine({ databaseUrl: url, migrate: false })
const { port } = await listen(createApp(engine, { open }), '127.0.0.1', 0)
process.send({ port })
setInterval(() => {
  const { user, system } = process.cpuUsage()
  if (process.connected) process.send({ cpuMs: (user + system) / 1000, rss: process.memoryUsage.rss() })
}, 500)
