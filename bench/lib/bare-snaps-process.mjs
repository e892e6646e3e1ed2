/**
 * The queue of seed 003 as the seed describes: claim the oldest by SKIP LOCKED, analyse in this process, write, commit. No leases, no
 * heartbeats, no limits of an image: a claimed row stays locked until the transaction ends.
 */
import pg from 'pg'
import { analyse } from '../../apps/snaps/dist/image/analyse.js'

const { url, batch } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const claim = `
  select id, image from public.snap_processing_job
  where status = 'PENDING'
  order by created_at
  limit $1
  for update skip locked`
const finish = `
  update public.snap_processing_job
  set status = 'DONE', attempt_count = attempt_count + 1, claimed_by = $2, locked_at = clock_timestamp(), format = $3, width = $4, height = $5,
    perceptual_hash = ('x' || $6::text)::bit(64), luminance_histogram = $7::int[], blur_score = $8, dominant_colors = $9::jsonb
  where id = $1`

const client = new pg.Client({ connectionString: url })
await client.connect()
for (let done = 0; ; ) {
  await client.query('begin')
  const { rows } = await client.query({ name: 'claim', text: claim, values: [batch] })
  const analysed = await Promise.all(rows.map(async ({ id, image }) => ({ id, ...(await analyse(image)) })))
  for (const { id, facts } of analysed) {
    const { format, width, height, perceptualHash, luminanceHistogram, blurScore, dominantColours } = facts
    const measured = [
      format,
      width,
      height,
      perceptualHash,
      luminanceHistogram,
      blurScore,
      JSON.stringify(dominantColours),
    ]
    await client.query({ name: 'finish', text: finish, values: [id, process.pid, ...measured] })
  }
  await client.query('commit')
  done += rows.length
  if (rows.length > 0) continue
  await client.end()
  process.send({ report: { done } }, () => process.exit(0))
  break
}
