/**
 * How the care for a job changes when its process dies, as parts of SQL: for those who take it from the dead (orphan.ts without
 * a certificate, death.ts with one). core/care.ts says what it means.
 */
import { aloneAfter, stalledAfter } from '../core/care.ts'
import { causeOf } from '../core/cause.ts'
import { RetomaError } from '../errors.ts'

/** A number that is kept of it; `job` is an alias of a row with its care. */
export const kept = (job: string, what: 'level' | 'deaths' | 'fruitless'): string =>
  `coalesce((${job}.care ->> '${what}')::int, 0)`

/** Restarts in a row, this one included: a step saved by this attempt, or a place that it noted, begins the row anew. */
export const fruitless = (job: string): string => `
  case
    when ${job}.progress_at >= ${job}.started_at
      or (select true from retoma.checkpoint c where c.job_id = ${job}.id and c.attempt = ${job}.attempt limit 1)
    then 0
    else ${kept(job, 'fruitless')} + 1
  end`

/** As it is kept: nothing, where there is nothing to say. */
export const careWith = (level: string, death: string, deaths: string, fruitless: string): string => `
  nullif(
    jsonb_build_object('level', ${level}, 'death', ${death}, 'deaths', ${deaths}, 'fruitless', ${fruitless}),
    '{"level": 0, "death": null, "deaths": 0, "fruitless": 0}'
  )`

/** After a restart that is nobody's fault: what is known of it stays; once it came further, it need not run alone for that. */
export const careAfterRestart = (job: string, fruitless: string): string =>
  careWith(
    `case
      when ${fruitless} >= ${aloneAfter} then 2
      when ${fruitless} > 0 or ${job}.crashes > 0 or ${kept(job, 'deaths')} > 0 then ${kept(job, 'level')}
      else 0
    end`,
    `${job}.care ->> 'death'`,
    kept(job, 'deaths'),
    fruitless,
  )

export const tooMany = (fruitless: string): string => `${fruitless} >= ${stalledAfter}`

const { code, message } = new RetomaError('too_many_restarts', { restarts: stalledAfter })

/** Kept on a job that is stalled because of it. */
export const tooManyError = JSON.stringify({
  what: 'orphan',
  code,
  message,
  stack: null,
  cause: causeOf({ what: 'orphan', code, message }),
})

export const orphanMessage = 'orphan: the worker died while it ran this job'
/** The same trouble in a kind's own words has the same cause. */
const orphanCause = causeOf({ what: 'orphan', code: null, message: orphanMessage })

/** Kept on a job of a worker that died; in the words of its kind, where that has some: see `inItsWords`. */
export const orphanError = JSON.stringify({
  what: 'orphan',
  code: null,
  message: orphanMessage,
  stack: null,
  cause: orphanCause,
})

export const inItsWords = (error: string, policy: string): string =>
  `${error} || jsonb_strip_nulls(jsonb_build_object('message', ${policy} #> '{messages,orphan}'))`
