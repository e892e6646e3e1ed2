/** A worker process of the snaps, for tests that kill workers; its settings are the environment. */
import { createEngine } from '../../../dist/index.js'
import { snaps } from '../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const system = snaps()
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
await engine.work({ queues: system.queues, signals: true })
process.stdout.write('ready')
