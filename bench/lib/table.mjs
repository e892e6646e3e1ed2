/** The table of a bench run, and what the project promises of it. */
import { grouped, median } from './figures.mjs'

/** `results`: contender's name to the rows of its rounds. */
export function printTable(results) {
  const figure = (name, field) => {
    const all = (results.get(name) ?? []).map(row => row[field]).filter(value => value !== undefined)
    return all.length === 0 ? undefined : median(all)
  }
  console.log('| | burn-down jobs/s | × | bulk enqueue jobs/s | × | pickup p50 ms | × | pickup p99 ms | × |')
  console.log('|---|---|---|---|---|---|---|---|---|')
  for (const name of results.keys()) {
    const cells = ['burnDown', 'enqueue', 'p50', 'p99'].flatMap(field => {
      const ratio = ratioOf(figure, name, field)
      return ratio === undefined ? ['', ''] : [figure(name, field).toLocaleString('en'), ratio.toFixed(2)]
    })
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  console.log()
  for (const [name, field, bound, what] of promises) {
    const ratio = ratioOf(figure, name, field)
    if (ratio === undefined) continue
    const verdict = ratio >= bound ? 'held' : 'NOT held'
    console.log(
      `${verdict}: ${what}: ${ratio.toFixed(2)}, at least ${bound} (${grouped(results.get(name).length)} rounds)`,
    )
  }
}

const promises = [
  ['graphile-worker, fastest', 'burnDown', 1.3, "burn-down over graphile-worker's fastest"],
  ['bare loop', 'burnDown', 0.7, 'burn-down over a bare loop of the very same statements'],
  ['graphile-worker', 'p50', 1, "graphile-worker's pickup p50 over ours"],
  ['graphile-worker', 'p99', 1, "graphile-worker's pickup p99 over ours"],
  ['graphile-worker, fastest', 'p50', 1, "graphile-worker's fastest pickup p50 over ours"],
  ['graphile-worker, fastest', 'p99', 1, "graphile-worker's fastest pickup p99 over ours"],
  ['graphile-worker', 'enqueue', 1.5, "bulk enqueue over graphile-worker's addJobs"],
]

/** Above 1 is in our favour: more jobs a second, or fewer milliseconds. */
function ratioOf(figure, name, field) {
  const [mine, theirs] = [figure('retoma', field), figure(name, field)]
  if (mine === undefined || theirs === undefined) return undefined
  return field.startsWith('p') ? theirs / mine : mine / theirs
}
