/**
 * A worker process of the planner, for kill.test.ts; the argument has the times of the policy. SIGTERM stops the worker as a deploy does;
 * SIGUSR2 blocks the event loop for `blockedMs`.
 */
import { createEngine } from '../../../dist/index.js'
import { planner } from '../dist/index.js'

process.stdin.resume().on('end', () => process.exit(1))
const { blockedMs, ...times } = JSON.parse(process.argv[2])
const system = planner({ settings: { concurrency: 3 }, times })
const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, systems: [system], migrate: false })
process.once('SIGTERM', async () => {
  await engine.close()
  process.exit(0)
})
process.once('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockedMs))
await engine.work({ queues: system.queues })
process.stdout.write('ready')
