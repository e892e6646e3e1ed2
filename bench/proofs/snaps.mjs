/**
 * 20,000 snaps of 200 kB through four worker processes, and a part of the same images through the loop that seed 003 describes, on a table
 * of the same shape in the same server.
 */
import sharp from 'sharp'
import { grouped, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { startProgram } from '../lib/program.mjs'
import { until } from '../lib/until.mjs'

export const title = '20,000 snaps of 200 kB through 4 processes: none lost, none done twice, the oldest first'

const processes = 4
/** Snaps of one claim of the bare loop. */
const atOnce = 4
/** Seconds between two polls of a worker. */
const poll = 5

export async function prove({ room, scale, say, hold, atMost }) {
  const server = await room.server()
  const database = await server.database()
  const total = Math.round(20_000 * scale)
  const photos = await makePhotos()
  const size = photos.reduce((sum, { length }) => sum + length, 0) / photos.length
  say(`photos of ${round(size / 1000)} kB on average, each snap with bytes of its own`)

  const door = startProgram(room, database, ['serve'])
  await until(() => /http:\/\/[\d.]+:\d+/.test(door.reported()), { seconds: 120, what: 'the address of the server' })
  const [address] = /http:\/\/[\d.]+:\d+/.exec(door.reported())
  await database.sql('create table public.done (id bigint not null, at timestamptz not null default clock_timestamp())')
  await database.sql(
    `create function public.note() returns trigger language plpgsql as $$ begin insert into public.done (id) values (new.id); return new; end $$`,
  )
  await database.sql(
    'create trigger note after update of format on snaps.snap for each row execute function public.note()',
  )

  // Nine tenths wait before a worker starts; the others come while the workers work.
  const before = Math.round(total * 0.9)
  const sending = performance.now()
  await send(address, photos, 0, before)
  say(`sent over HTTP: ${round(before / ((performance.now() - sending) / 1000), 1)} snaps a second`)
  for (let n = 0; n < processes; n++) startProgram(room, database, ['worker', '--queues', 'snaps'])
  await until(
    async () => (await database.sql('select from retoma.worker where dead_at is null')).length === processes,
    {
      seconds: 120,
      what: 'the workers',
    },
  )
  await send(address, photos, before, total)
  const left = `select count(*)::int as n from snaps.snap_processing_job where status in ('PENDING', 'PROCESSING')`
  await until(async () => (await database.sql(left))[0].n === 0, {
    everyMs: 1000,
    seconds: 7200,
    what: 'the last snap',
  })

  const [ends] = await database.sql(
    `select count(*)::int as snaps, count(*) filter (where p.status = 'DONE')::int as done, max(j.attempt) as attempts,
       count(distinct p.last_worker)::int as workers
     from snaps.snap_processing_job p join retoma.job j on j.id = p.job_id`,
  )
  const [written] = await database.sql('select count(*)::int as n, count(distinct id)::int as ids from public.done')
  const [{ rate }] = await database.sql(
    'select (count(*) / extract(epoch from max(at) - min(at)))::float8 as rate from public.done',
  )
  hold(`none is lost: ${grouped(ends.done)} of ${grouped(total)} are DONE`, ends.done === total && ends.snaps === total)
  hold(
    `none is done twice: ${grouped(written.n)} results of ${grouped(written.ids)} snaps, at most ${ends.attempts} attempt`,
    written.n === total && written.ids === total && ends.attempts === 1,
  )
  hold(`${ends.workers} processes did the work`, ends.workers === processes)
  const [{ behind }] = await database.sql(
    `select max(extract(epoch from behind))::float8 as behind from (
       select max(j.started_at) over (order by s.created_at, s.id) - j.started_at as behind
       from snaps.snap s join retoma.job j on j.id = s.job_id
     ) o`,
  )
  atMost('a snap starts before an older one by', behind, poll, ' s')

  const bare = await bareLoop(room, server, photos, Math.max(100, Math.round(total / 10)))
  say(`Retoma: ${round(rate, 1)} snaps a second, each image decoded in a process with limits`)
  say(`bare SKIP LOCKED loop, ${processes} processes: ${round(bare, 1)} snaps a second, decoded in the loop itself`)
  say(`ratio: ${round(rate / bare, 2)}`)
}

/** Soft pictures of different contents, each of about 200 kB. */
async function makePhotos() {
  const photos = []
  for (let seed = 0; seed < 20; seed++) {
    const noise = Buffer.alloc(200 * 150 * 3)
    let state = seed + 1
    for (let at = 0; at < noise.length; at++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      noise[at] = state >>> 24
    }
    const small = sharp(noise, { raw: { width: 200, height: 150, channels: 3 } })
    photos.push(await small.resize(1600, 1200).jpeg({ quality: 30 }).toBuffer())
  }
  return photos
}

/** The nth photo: a comment in the file makes its bytes, and its hash, its own. */
function photoOf(photos, n) {
  const photo = photos[n % photos.length]
  const text = Buffer.from(`snap ${n}`)
  const head = Buffer.from([0xff, 0xfe, 0, text.length + 2])
  return Buffer.concat([photo.subarray(0, 2), head, text, photo.subarray(2)])
}

/** In the order of their numbers, eight requests at a time. */
async function send(address, photos, from, to) {
  let next = from
  const sender = async () => {
    while (next < to) {
      const init = { method: 'POST', headers: { 'content-type': 'image/jpeg' }, body: photoOf(photos, next++) }
      const response = await fetch(`${address}/api/snaps`, init)
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 8 }, sender))
}

/** Snaps a second of the loop of the seed. */
async function bareLoop(room, server, photos, total) {
  const database = await server.database()
  await database.sql(`
    create table public.snap_processing_job (
      id bigint generated by default as identity primary key, status text not null default 'PENDING', attempt_count integer not null default 0,
      next_retry_at timestamptz, last_error text, claimed_by text, locked_at timestamptz, created_at timestamptz not null default clock_timestamp(),
      image bytea not null, format text, width integer, height integer, perceptual_hash bit(64), luminance_histogram integer[],
      blur_score double precision, dominant_colors jsonb)`)
  await database.sql('alter table public.snap_processing_job alter image set storage external')
  await database.sql(`create index pending on public.snap_processing_job (created_at) where status = 'PENDING'`)
  for (let n = 0; n < total; n++)
    await database.sql('insert into public.snap_processing_job (image) values ($1)', [photoOf(photos, n)])
  const task = { url: database.url, batch: atOnce }
  await Promise.all(Array.from({ length: processes }, () => startHelper(room, 'bare-snaps', task).reported))
  const [{ done, rate }] = await database.sql(
    `select count(*)::int as done, (count(*) / extract(epoch from max(locked_at) - min(locked_at)))::float8 as rate
     from public.snap_processing_job where status = 'DONE'`,
  )
  if (done !== total) throw new Error(`the bare loop has done ${done} of ${total}`)
  return rate
}
