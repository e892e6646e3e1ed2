/** BullMQ on Redis. */
import { Queue, Worker } from 'bullmq'

export async function open(url) {
  const { hostname, port } = new URL(url)
  const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null }
  const queue = new Queue('noop', { connection })
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
