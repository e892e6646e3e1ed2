/** pg-boss with batches, the fast mode of pg-boss. */
import pg from 'pg'
import { PgBoss } from 'pg-boss'

const batchSize = 500

export async function open(url) {
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('noop', { retryLimit: 0 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    async addMany(inputs) {
      for (let i = 0; i < inputs.length; i += 1000)
        await boss.insert(
          'noop',
          inputs.slice(i, i + 1000).map(data => ({ data, retryLimit: 0 })),
        )
    },
    add: data => boss.send('noop', data),
    work: handler =>
      boss.work('noop', { batchSize, pollingIntervalSeconds: 0.5 }, async jobs => {
        // A batch of pg-boss fails as a whole, so no job fails here, which favours pg-boss.
        for (const { data } of jobs) handler(data)
      }),
    async unfinished() {
      const { rows } = await client.query(
        `select count(*)::int as n from pgboss.job where name = 'noop' and state < 'completed'`,
      )
      return rows[0].n
    },
    async close() {
      await boss.stop({ graceful: false })
      await client.end()
    },
  }
}
