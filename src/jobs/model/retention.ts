/** Checks the retention of finished jobs, for each final state. */

import { suggestion } from '../../errors/did-you-mean.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import { type Duration, days } from '../../lib/values/duration.ts'
import { type FinalJobState, finalStates } from './state.ts'

/** A single duration for all final states, or a duration for each; a state without a duration has 90 days. */
export type Retention = Duration | Partial<Record<FinalJobState, Duration>>

const usual = days(90)

export function checkRetention(asked: Retention = usual): Record<FinalJobState, Duration> {
  if (asked === null || Array.isArray(asked))
    refuse('it is a duration, or a duration for each final state', 'é uma duração, ou uma duração por estado final')
  const named = typeof asked === 'object' ? asked : Object.fromEntries(finalStates.map(state => [state, asked]))
  for (const [state, duration] of Object.entries(named)) {
    if (!(finalStates as readonly string[]).includes(state)) {
      const hint = suggestion(state, finalStates)
      refuse(`there is no final state "${state}"${hint.en}`, `não existe o estado final "${state}"${hint.pt}`)
    }
    if (!(Number.isFinite(duration) && duration > 0))
      refuse(
        `it is a duration above zero, such as days(90), not ${duration}`,
        `é uma duração acima de zero, como days(90), não ${duration}`,
      )
  }
  return Object.fromEntries(finalStates.map(state => [state, named[state] ?? usual])) as Record<FinalJobState, Duration>
}

function refuse(en: string, pt: string): never {
  throw new RetomaError('bad_option', { option: 'retention', problem: localized(en, pt) })
}
