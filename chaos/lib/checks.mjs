/** Checks after any fault: compares the job table and the recorded failures with the ledger of the handlers. */
import { recount } from '../../bench/lib/recount.mjs'
import { nameOf } from './ledger.mjs'

/**
 * Checks: every job succeeded once, by an attempt in the ledger, and a job counts only failures thrown by the
 * handler.
 */
export async function checkEnds(stage, { expected }) {
  const rows = await stage.sql(
    `select id::text, state, attempt, last_worker, worker_id, failures, restarts, result from retoma.job`,
  )
  const failures = await stage.sql(`select job_id::text as id, attempt, failure_type, worker from retoma.failure`)
  const ledger = stage.ledger.read()
  const started = groupBy(ledger.start, nameOf)
  const ended = new Set(ledger.end.map(each => `${nameOf(each)} ${each.worker}`))
  const thrown = new Set(ledger.throw.map(each => `${nameOf(each)} ${each.worker}`))
  const brief = ({ id, state, attempt, last_worker, result }) => ({ id, state, attempt, last_worker, result })

  if (expected !== undefined && rows.length !== expected) stage.broke(`${rows.length} jobs of ${expected} are there`)
  stage.brokeEach('jobs did not succeed', rows.filter(row => row.state !== 'succeeded').map(brief))
  const succeeded = rows.filter(row => row.state === 'succeeded')
  stage.brokeEach(
    'results are of another attempt than the accepted one',
    succeeded.filter(row => row.result?.attempt !== row.attempt || row.result?.worker !== row.last_worker).map(brief),
  )
  stage.brokeEach(
    'accepted attempts never started or never ended',
    succeeded
      .filter(
        row =>
          !started.get(nameOf(row))?.some(each => each.worker === row.last_worker) ||
          !ended.has(`${nameOf(row)} ${row.last_worker}`),
      )
      .map(brief),
  )
  stage.brokeEach(
    'attempts were started more than once',
    [...started.values()]
      .filter(each => each.length > 1)
      .map(each => each.map(({ id, attempt, worker }) => ({ id, attempt, worker }))),
  )
  const errors = failures.filter(each => each.failure_type !== 'orphan')
  stage.brokeEach(
    'failures were noted that nobody threw',
    errors.filter(each => !thrown.has(`${nameOf(each)} ${each.worker}`)),
  )
  const paid = groupBy(errors, each => each.id)
  stage.brokeEach(
    'jobs paid for more than they threw',
    rows.filter(row => row.failures !== (paid.get(row.id)?.length ?? 0)).map(brief),
  )
  await checkBatches(stage)
  const starts = ledger.start.length
  return { rows, failures, ledger, starts }
}

/** Checks: the counters of every batch are right, and every batch ended once and has exactly 1 `over` job. */
async function checkBatches(stage) {
  stage.brokeEach('batches do not know what has ended', (await recount(stage.sql)).wrong)
  stage.brokeEach(
    'batches did not succeed, or not once',
    await stage.sql(
      `select b.id::text as id, b.state, b.completions
       from retoma.batch b
       where b.state <> 'succeeded' or b.completions <> 1
         or 1 <> (select count(*) from retoma.job where kind = 'over' and input ->> 'batch' = b.id::text)`,
    ),
  )
}

/** `lease_lost` lines of a worker, by attempt. */
export function leaseLostIn(lines) {
  return lines
    .filter(line => line.code === 'lease_lost')
    .map(line => ({ id: line.job, attempt: line.attempt, worker: line.worker }))
}

/** Waits until the condition holds. The deadline of the scenario is the only limit. */
export async function until(condition, everyMs = 100) {
  while (!(await condition())) await new Promise(resolve => setTimeout(resolve, everyMs))
}

/** Jobs, and batches. */
export const unfinished = async stage => {
  const [row] = await stage.sql(
    `select (select count(*) from retoma.job where state in ('waiting', 'running'))::int
       + (select count(*) from retoma.batch where finished_at is null)::int as n`,
  )
  return row.n
}

function groupBy(list, key) {
  const groups = new Map()
  for (const each of list) {
    const group = groups.get(key(each))
    if (group === undefined) groups.set(key(each), [each])
    else group.push(each)
  }
  return groups
}
