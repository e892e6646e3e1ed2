/** Checks the retention of finished jobs, for each final state: of an engine, of a kind, of a job, of a batch. */

import { suggestion } from '../../errors/did-you-mean.ts'
import { type Refuse, refuseOption } from '../../errors/invalid-option.ts'
import { type Duration, days, longestDuration } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { type FinalJobState, finalStates } from './state.ts'

/** A single duration for all final states, or a duration for each; a state without a duration has the default. */
export type Retention = Duration | Partial<Record<FinalJobState, Duration>>

/** The retention of a kind, a job or a batch by final state. A missing state: the retention of the engine. */
export type OwnRetention = Partial<Record<FinalJobState, Duration>>

const usual = days(90)

/** Returns the retention of an engine. A missing state has 90 days. */
export function checkRetention(asked: Retention = usual): Record<FinalJobState, Duration> {
  const own = ownRetention(asked, (en, pt) => refuseOption('retention', en, pt))
  return Object.fromEntries(finalStates.map(state => [state, own[state] ?? usual])) as Record<FinalJobState, Duration>
}

/** Returns the given states only. */
export function ownRetention(asked: Retention, refuse: Refuse): OwnRetention {
  if (asked === null || Array.isArray(asked) || (typeof asked !== 'object' && typeof asked !== 'number'))
    refuse(
      'it is a duration, such as days(90), or a duration for each final state',
      'é uma duração, como days(90), ou uma duração por estado final',
    )
  const named = typeof asked === 'object' ? asked : Object.fromEntries(finalStates.map(state => [state, asked]))
  for (const [state, duration] of Object.entries(named)) {
    if (!(finalStates as readonly string[]).includes(state)) {
      const hint = suggestion(state, finalStates)
      refuse(`there is no final state "${state}"${hint.en}`, `não existe o estado final "${state}"${hint.pt}`)
    }
    if (!(Number.isFinite(duration) && duration > 0 && duration <= longestDuration))
      refuse(
        `it is a duration above zero and up to 100 years, such as days(90), not ${shownValue(duration)}`,
        `é uma duração acima de zero e de até 100 anos, como days(90), não ${shownValue(duration)}`,
      )
  }
  return Object.fromEntries(
    finalStates.flatMap(state => (named[state] === undefined ? [] : [[state, named[state]]])),
  ) as OwnRetention
}
