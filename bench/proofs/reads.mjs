/** Each route that reads, beside millions of finished jobs, over a real socket. What streams, and what a secret opens, is left out. */
import { engineRoutes } from '../../dist/http/routes/index.js'
import { median } from '../lib/figures.mjs'
import { openFinished, timed } from '../lib/finished.mjs'

export const title =
  'with 5,000,000 finished jobs every route that reads answers within 50 ms at the median (/metrics within 100 ms)'

const rounds = 30

export async function prove({ room, scale, say, hold, atMost }) {
  const { database, batch, url } = await openFinished(room, { rows: Math.round(5_000_000 * scale), say })
  const [{ id: job }] = await database.sql(`select id from retoma.job where batch_id is null order by id limit 1`)
  const [{ id: item }] = await database.sql(
    `select id from retoma.job where batch_id = $1 and state = 'failed' limit 1`,
    [batch],
  )
  const names = { jobs: job, batches: batch, queues: 'bench' }
  const reads = engineRoutes.filter(
    ({ method, role, answers }) => method === 'get' && role !== 'cron' && answers !== 'text/event-stream',
  )
  for (const { path } of reads) {
    const of = path.split('/')[3]
    const filled = path.replace('{item}', item).replace(/\{\w+\}/, names[of] ?? 'none')
    const asked = [filled, ...more(path)]
    for (const each of asked) {
      const times = []
      let status
      for (let i = 0; i < rounds; i++) {
        const answer = await timed(url + each)
        times.push(answer.ms)
        status = answer.status
      }
      if (status >= 500) hold(`${each} answers ${status}`, false)
      atMost(
        `${path === each ? each : `${path} as ${each}`} (${status})`,
        median(times),
        path === '/metrics' ? 100 : 50,
        ' ms',
      )
    }
  }
}

/** Filters that find little among much. */
const more = path =>
  path === '/api/v1/jobs'
    ? ['failed', 'stalled', 'waiting', 'succeeded'].map(state => `${path}?state=${state}&limit=500`)
    : []
