/**
 * Recounts batches row by row and compares with the counters, in a single statement and so in a single snapshot. In every snapshot: the sums of batch_count equal the
 * jobs in each state (running = started less freed), the total equals the number of jobs, and a finished batch has no unfinished job.
 */
const states = ['succeeded', 'failed', 'skipped', 'cancelled', 'stalled']
const all = [...states, 'running']

const text = `
  with kept as (
    select batch_id, ${states.map(state => `sum(${state})::int as ${state}`).join(', ')}, sum(started - released)::int as running
    from retoma.batch_count group by 1
  ), found as (
    select batch_id, count(*)::int as total, ${all.map(state => `count(*) filter (where state = '${state}')::int as ${state}`).join(', ')}
    from retoma.job where batch_id is not null group by 1
  ), chunked as (
    select batch_id, sum(items)::int as total from retoma.batch_chunk group by 1
  )
  select b.id::text as id, b.state, b.cascade, b.total, coalesce(f.total, 0) as "foundTotal", coalesce(c.total, 0) as "chunkTotal",
    array[${all.map(state => `coalesce(k.${state}, 0)`).join(', ')}] as kept,
    array[${all.map(state => `coalesce(f.${state}, 0)`).join(', ')}] as found
  from retoma.batch b
    left join kept k on k.batch_id = b.id
    left join found f on f.batch_id = b.id
    left join chunked c on c.batch_id = b.id`

/** `sql`: runs a statement. Returns the number of batches, the number of ended jobs, and the wrong batches. */
export async function recount(sql) {
  const rows = await sql(text)
  const sum = list => list.reduce((all, n) => all + n, 0)
  const endedOf = ({ found: [succeeded, failed, skipped, cancelled] }) => succeeded + failed + skipped + cancelled
  const isOver = ({ state, cascade }) =>
    ['succeeded', 'completed_with_failures', 'failed', 'cancelled'].includes(state) && cascade === null
  const isRight = row =>
    row.kept.every((n, i) => n === row.found[i]) &&
    row.total === row.foundTotal &&
    row.total === row.chunkTotal &&
    (!isOver(row) || endedOf(row) === row.total)
  return {
    batches: rows.length,
    ended: sum(rows.map(endedOf)),
    wrong: rows.filter(row => !isRight(row)).map(row => JSON.stringify(row)),
  }
}
