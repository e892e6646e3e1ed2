/** Who takes part, in which mode; `share` of the jobs and `pickups`: fewer for those that would take too long. */
export const contenders = [
  { name: 'retoma', contender: 'retoma', concurrency: 50 },
  { name: 'bare loop', contender: 'bare', measures: ['burnDown'] },
  { name: 'graphile-worker, fastest', contender: 'graphile', mode: 'fastest', concurrency: 24 },
  { name: 'graphile-worker', contender: 'graphile', mode: 'default', concurrency: 24, share: 0.2 },
  { name: 'pg-boss, batches', contender: 'pg-boss', share: 0.4, pickups: 40 },
  { name: 'BullMQ on Redis', contender: 'bullmq', mode: 'redis', concurrency: 50, share: 0.4 },
  { name: 'BullMQ on PostgreSQL', contender: 'bullmq', mode: 'postgres', concurrency: 50, share: 0.1 },
]
