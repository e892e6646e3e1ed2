/** Waits until the condition holds, with a check every `everyMs`. Throws after `seconds`. */
import { setTimeout as sleep } from 'node:timers/promises'

export async function until(condition, { everyMs = 20, seconds = 600, what = 'what was waited for' } = {}) {
  const end = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what} did not come about in ${seconds} s`)
    await sleep(everyMs)
  }
}

/** The same, but returns false instead of a throw after `seconds`, so the proof can still judge the other figures. */
export const comesAbout = (condition, options) =>
  until(condition, options).then(
    () => true,
    error => {
      if (!/did not come about/.test(error.message)) throw error
      return false
    },
  )

/** Resolves when every job of `database` is final. Cheap: both parts of the query use partial indexes. */
export const untilFinished = (database, options) =>
  until(
    async () => {
      const [{ left }] = await database.sql(
        `select exists (select from retoma.job where state = 'waiting') or exists (select from retoma.job where state = 'running') as left`,
      )
      return !left
    },
    { what: 'the end of all jobs', ...options },
  )
