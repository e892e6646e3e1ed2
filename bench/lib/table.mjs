/** The table of a bench run, and the project's promises about the figures. */
import { grouped, median } from './figures.mjs'

const titles = {
  burnDown: 'burn-down, jobs/s:',
  enqueue: 'bulk enqueue, jobs/s:',
  p50: 'pickup p50, ms',
  p99: 'pickup p99, ms',
}

/** `results`: contender's name to the rows of its rounds. One line for each measure, one pair of columns for each peer. */
export function printTable(results) {
  const figure = (name, field) => {
    const all = (results.get(name) ?? []).map(row => row[field]).filter(value => value !== undefined)
    return all.length === 0 ? undefined : median(all)
  }
  const peers = [...results.keys()].filter(name => name !== 'retoma')
  const fields = Object.keys(results.get('retoma')[0] ?? {}).filter(field => measureOf(field) in titles)
  console.log(`| | retoma | ${peers.flatMap(name => [name, '×']).join(' | ')} |`)
  console.log(`|---|---|${peers.map(() => '---|---|').join('')}`)
  for (const field of fields) {
    const cells = peers.flatMap(name => {
      const ratio = ratioOf(figure, name, field)
      return ratio === undefined ? ['', ''] : [figure(name, field).toLocaleString('en'), ratio.toFixed(2)]
    })
    const title = `${titles[measureOf(field)]}${field.slice(measureOf(field).length)}`
    console.log(`| ${title} | ${figure('retoma', field).toLocaleString('en')} | ${cells.join(' | ')} |`)
  }
  console.log()
  for (const field of fields) {
    for (const [name, measure, bound, what] of promises) {
      const ratio = measureOf(field) === measure ? ratioOf(figure, name, field) : undefined
      if (ratio === undefined) continue
      const verdict = ratio >= bound ? 'held' : 'NOT held'
      const which = field.slice(measure.length)
      console.log(
        `${verdict}: ${what}${which}: ${ratio.toFixed(2)}, at least ${bound} (${grouped(results.get(name).length)} rounds)`,
      )
    }
  }
}

const measureOf = field => field.split(' ')[0]

const promises = [
  ['graphile-worker, fastest', 'burnDown', 1.3, "burn-down over graphile-worker's fastest"],
  ['bare loop', 'burnDown', 0.7, 'burn-down over a bare loop of the very same statements'],
  ['graphile-worker', 'p50', 1, "graphile-worker's pickup p50 over ours"],
  ['graphile-worker', 'p99', 1, "graphile-worker's pickup p99 over ours"],
  ['graphile-worker, fastest', 'p50', 1, "graphile-worker's fastest pickup p50 over ours"],
  ['graphile-worker, fastest', 'p99', 1, "graphile-worker's fastest pickup p99 over ours"],
  ['graphile-worker', 'enqueue', 1.5, "bulk enqueue over graphile-worker's addJobs"],
  ['graphile-worker, fastest', 'enqueue', 1.5, "bulk enqueue over graphile-worker's addJobs"],
]

/** Above 1 is in our favour: more jobs a second, or fewer milliseconds. */
function ratioOf(figure, name, field) {
  const [mine, theirs] = [figure('retoma', field), figure(name, field)]
  if (mine === undefined || theirs === undefined) return undefined
  return field.startsWith('p') ? theirs / mine : mine / theirs
}
