/** The contenders and modes; `most` jobs and `pickups`: fewer for slow contenders. */
export const contenders = [
  { name: 'retoma', contender: 'retoma', concurrency: 50 },
  {
    name: 'retoma without history',
    contender: 'retoma',
    mode: 'without history',
    concurrency: 50,
    measures: ['burnDown'],
  },
  { name: 'bare loop', contender: 'bare', measures: ['burnDown'] },
  { name: 'graphile-worker, fastest', contender: 'graphile', mode: 'fastest', concurrency: 24 },
  { name: 'graphile-worker', contender: 'graphile', mode: 'default', concurrency: 24, most: 10_000 },
  { name: 'pg-boss, batches', contender: 'pg-boss', most: 30_000, pickups: 40 },
  { name: 'BullMQ on Redis', contender: 'bullmq', mode: 'redis', concurrency: 50, most: 30_000 },
  { name: 'BullMQ on PostgreSQL', contender: 'bullmq', mode: 'postgres', concurrency: 50, most: 10_000 },
]
