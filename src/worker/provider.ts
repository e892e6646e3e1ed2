/**
 * `ctx.provider`: asks a service outside, unless it waits or is stopped; what it says of itself reaches all workers before the
 * handler hears it.
 *
 * Invariant: it is asked only after its row was read, and what it said is written before this throws. Somebody who dies in
 * between has told nobody: the next one asks, and is told the same. That it answered is written if it can be, and an answer is
 * never lost for it: who asks next makes it good. Whoever is let through to one that has stopped pays for no trouble there.
 */
import { handBack, handBackOf } from '../core/hand-back.ts'
import { asText } from '../core/json.ts'
import { namePattern, nameRule } from '../core/name.ts'
import { isFinal, messageOf } from '../core/outcome.ts'
import type { ProviderStand, ProviderWord } from '../core/provider.ts'
import { refuseOption } from '../core/refuse.ts'
import { withoutSecrets } from '../lib/redact.ts'

export interface ProviderHost {
  readonly signal: AbortSignal
  tell(name: string, word: ProviderWord): Promise<ProviderStand>
}

export async function askProvider<T>(
  host: ProviderHost,
  name: string,
  ask: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  if (typeof name !== 'string' || !namePattern.test(name))
    refuseOption(
      'provider',
      `its name is ${nameRule.en}, not ${asText(name)}`,
      `o nome é ${nameRule.pt}, não ${asText(name)}`,
    )
  const stand = await host.tell(name, { how: 'ask' })
  if (stand.how !== 'open') throw handBackTo(name, stand)
  let answer: T
  try {
    answer = await ask(host.signal)
  } catch (error) {
    const said = handBackOf(error)
    // Told to end while it waited, it has not heard whether it answers; of an item that cannot be answered it has.
    if (said === undefined && stand.probe && !host.signal.aborted && !isFinal(error))
      throw handBackTo(name, await host.tell(name, { how: 'silent', message: withoutSecrets(messageOf(error)) }), error)
    // What another provider said, asked inside of this one, has been told already.
    if (said === undefined || said.why === 'pause' || said.why === 'child' || said.provider !== null) throw error
    const { why, code, retryAfterMs } = said
    const words = { asked: stand.asked, code: code && withoutSecrets(code), message: withoutSecrets(said.message) }
    const word: ProviderWord = why === 'stop' ? { how: 'stop', ...words } : { how: 'wait', retryAfterMs, ...words }
    throw handBackTo(name, await host.tell(name, word), error)
  }
  if (stand.owed !== null) await host.tell(name, { how: 'answered', owed: stand.owed }).catch(() => {})
  return answer
}

function handBackTo(provider: string, stand: ProviderStand, cause?: unknown): Error {
  if (stand.how === 'open') return handBack({ ...nothing, why: 'wait', provider, message: '' }, cause)
  const { how, ms, code, message } = stand
  return handBack({ ...nothing, why: how === 'stopped' ? 'stop' : 'wait', provider, code, message, delayMs: ms }, cause)
}

const nothing = { code: null, retryAfterMs: null, delayMs: null }
