/** A worker process of the syncs, for kill.test.ts; its settings are the environment. */
import { createEngine } from '../../../../dist/index.js'
import { documents } from '../../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const system = documents()
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
await engine.work({ queues: { sync: 10 } })
process.stdout.write('ready')
