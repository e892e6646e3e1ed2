/** Two days of made-up history for the charts: waves of a working day, with a bad quarter of an hour. */
const bounds = [...Array.from({ length: 8 }, (_, power) => [1, 2, 5].map(digit => digit * 10 ** power)).flat(), 1e8]

/** The counts of values around `typical` milliseconds. */
function spread(count, typical) {
  const counts = new Array(bounds.length + 1).fill(0)
  const middle = bounds.findIndex(bound => typical <= bound)
  for (const [away, share] of [
    [-1, 0.3],
    [0, 0.5],
    [1, 0.16],
    [2, 0.04],
  ])
    counts[middle + away] += Math.round(count * share)
  return counts
}

/** Numbers that look random and are the same in each run. */
const noise = n => (Math.abs(Math.sin(n * 12.9898) * 43758.5453) % 1) - 0.5

export async function writeHistory(engine, queues) {
  const minute = Math.floor(Date.now() / 60_000)
  await engine.query('delete from retoma.queue_history')
  for (const [row, [queue, { perMinute, duration, waiting, failing = 0.01 }]] of Object.entries(queues).entries()) {
    const values = []
    for (let ago = 2 * 24 * 60; ago >= 0; ago--) {
      const isBad = ago > 300 && ago < 318
      const wave = 0.65 + 0.3 * Math.sin((ago / 1440) * 2 * Math.PI + 2) + 0.05 * Math.sin(ago / 9 + row)
      const count = Math.max(0, Math.round(perMinute * wave * (1 + 0.35 * noise(ago + row * 977)) * (isBad ? 0.4 : 1)))
      const failed = Math.round(count * (isBad ? 0.4 : failing * (1 + noise(ago * 3 + row))))
      const slow = isBad ? 6 : 1
      values.push([
        new Date((minute - ago) * 60_000),
        count,
        count - failed,
        failed,
        spread(count, duration * slow * (1 + 0.5 * noise(ago))),
        spread(count, waiting * slow * (1 + 0.5 * noise(ago + 5))),
      ])
    }
    await engine.query(
      `insert into retoma.queue_history (seconds, at, queue, started, succeeded, skipped, failed, retried, deferred, duration_ms, waiting_ms, durations, waitings)
       select 60, (row->>0)::timestamptz, $1, (row->>1)::bigint, (row->>2)::bigint, 0, (row->>3)::bigint, 0, 0, (row->>1)::bigint * $2, (row->>1)::bigint * $3,
         array(select jsonb_array_elements_text(row->4)::integer), array(select jsonb_array_elements_text(row->5)::integer)
       from jsonb_array_elements($4::jsonb) row`,
      [queue, duration, waiting, JSON.stringify(values)],
    )
  }
}
