/** Removes secrets from an outcome before it is stored, published and logged: an error may quote an address with credentials. */
import type { Failure, Outcome } from '../jobs/model/outcome.ts'
import { withoutSecrets } from '../lib/values/redact.ts'

export function redactOutcome(outcome: Outcome): Outcome {
  if (outcome.state === 'deferred') {
    const { pause, trouble } = outcome
    if (trouble) return { ...outcome, trouble: { ...trouble, message: withoutSecrets(trouble.message) } }
    if (pause === null) return outcome
    const { answer } = pause
    const said = { message: withoutSecrets(pause.message), ...(answer && { answer: withoutSecrets(answer) }) }
    return { ...outcome, pause: { ...pause, ...said } }
  }
  return 'failure' in outcome && outcome.failure !== null
    ? ({ ...outcome, failure: clean(outcome.failure) } as Outcome)
    : outcome
}

const clean = (failure: Failure): Failure => ({
  ...failure,
  message: withoutSecrets(failure.message),
  stack: failure.stack && withoutSecrets(failure.stack),
})
