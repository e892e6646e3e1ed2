/** A worker process of the quotes, for kill.test.ts; its settings are the environment. */
import { createEngine } from '../../../dist/index.js'
import { quotes } from '../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const system = quotes()
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
await engine.work({ queues: system.queues })
process.stdout.write('ready')
