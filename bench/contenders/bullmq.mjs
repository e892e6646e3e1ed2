/** BullMQ 6, on Redis or on PostgreSQL; keeps finished jobs on both. */
import { createPostgresBackend, createRedisBackend, withBackend } from 'bullmq'

export async function open(url, { mode }) {
  const { Queue, Worker } = withBackend(mode === 'redis' ? createRedisBackend : createPostgresBackend)
  const connection = mode === 'redis' ? toRedis(url) : { connectionString: url, max: 10, migrate: true }
  const queue = new Queue('noop', { connection })
  await queue.waitUntilReady()
  let worker
  return {
    async addMany(inputs) {
      for (let i = 0; i < inputs.length; i += 1000)
        await queue.addBulk(inputs.slice(i, i + 1000).map(data => ({ name: 'noop', data })))
    },
    add: data => queue.add('noop', data),
    async work(handler, concurrency) {
      worker = new Worker(
        'noop',
        async job => {
          handler(job.data)
          if (job.data.fails) throw new Error('as asked')
        },
        { connection, concurrency },
      )
      worker.on('error', () => {})
      await worker.waitUntilReady()
    },
    async unfinished() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed')
      return Object.values(counts).reduce((a, b) => a + b, 0)
    },
    async close() {
      await worker?.close()
      await queue.close()
    },
  }
}

function toRedis(url) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}
