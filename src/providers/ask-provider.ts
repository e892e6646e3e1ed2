/**
 * `ctx.provider`: calls a provider unless the provider waits or is stopped. A wait or a stop reaches all workers before the handler
 * receives the error.
 *
 * Invariant: `ask` runs only after a read of the provider's row, and a wait or stop is written before this function throws. If the process
 * crashes in between, nothing is written: the next job calls the provider and gets the same answer. A success is written if possible, and
 * an answer is never lost because of a failed write: the next call writes the success. A probe of a stopped provider is not charged for
 * trouble of the provider.
 */

import { refuseOption } from '../errors/invalid-option.ts'
import { defer, deferralOf } from '../jobs/model/deferral.ts'
import { isNonRetryable, messageOf } from '../jobs/model/outcome.ts'
import { shownValue } from '../lib/values/json.ts'
import { namePattern, nameRule } from '../lib/values/name.ts'
import { withoutSecrets } from '../lib/values/redact.ts'
import type { ProviderPermission, ProviderWord } from './model/provider.ts'

export interface ProviderHost {
  readonly signal: AbortSignal
  record(name: string, word: ProviderWord): Promise<ProviderPermission>
}

export async function askProvider<T>(
  host: ProviderHost,
  name: string,
  ask: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  if (typeof name !== 'string' || !namePattern.test(name))
    refuseOption(
      'provider',
      `its name is ${nameRule.en}, not ${shownValue(name)}`,
      `o nome é ${nameRule.pt}, não ${shownValue(name)}`,
    )
  if (typeof ask !== 'function')
    refuseOption('ask', `it is a function, not ${shownValue(ask)}`, `é uma função, não ${shownValue(ask)}`)
  const stand = await host.record(name, { how: 'ask' })
  if (stand.how !== 'open') throw deferralUntil(name, stand)
  let answer: T
  try {
    answer = await ask(host.signal)
  } catch (error) {
    const said = deferralOf(error)
    // After an abort it is unknown whether the provider works. A non-retryable error of this item means the provider works.
    if (said === undefined && stand.probe && !host.signal.aborted && !isNonRetryable(error))
      throw deferralUntil(
        name,
        await host.record(name, { how: 'silent', message: withoutSecrets(messageOf(error)) }),
        error,
      )
    // The wait or stop of another provider, called inside this call, is already written.
    if (said === undefined || said.why === 'pause' || said.why === 'child' || said.provider !== null) throw error
    const { why, code, retryAfterMs } = said
    const neverStops = said.neverStops === true
    const words = { asked: stand.asked, code: code && withoutSecrets(code), message: withoutSecrets(said.message) }
    const word: ProviderWord =
      why === 'stop' ? { how: 'stop', ...words } : { how: 'wait', retryAfterMs, neverStops, ...words }
    throw deferralUntil(name, await host.record(name, word), error)
  }
  if (stand.owed !== null) await host.record(name, { how: 'answered', owed: stand.owed }).catch(() => {})
  return answer
}

function deferralUntil(provider: string, stand: ProviderPermission, cause?: unknown): Error {
  if (stand.how === 'open') return defer({ ...nothing, why: 'wait', provider, message: '' }, cause)
  const { how, ms, code, message } = stand
  return defer({ ...nothing, why: how === 'stopped' ? 'stop' : 'wait', provider, code, message, delayMs: ms }, cause)
}

const nothing = { code: null, retryAfterMs: null, neverStops: null, delayMs: null }
