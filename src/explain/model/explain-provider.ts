/** Explains a provider that waits or has stopped: until when, and with the provider's own message. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { ProviderFacts } from './explain-facts.ts'
import { append, message, messageBeside, nothing, quoted, typed, until, wait } from './sentence-parts.ts'

/** `provider "maps" asks to wait 4 min more: slow down` */
export function whyProvider(provider: ProviderFacts, now: Date): LocalizedText {
  const { name, freeAt, stoppedAt, probeAt, message: words, consecutiveWaits, waitingSince } = provider
  const own = words === null || words.trim() === '' ? nothing : localized(`: ${message(words)}`, `: ${message(words)}`)
  if (stoppedAt === null)
    return append(
      localized(
        `provider ${quoted(name)} asks to wait${freeAt === null ? '' : ` ${until(freeAt, now)} more`}`,
        `o provedor ${quoted(name)} pede para esperar${freeAt === null ? '' : ` mais ${until(freeAt, now)}`}`,
      ),
      own,
      unanswered(consecutiveWaits, waitingSince, now),
    )
  const next =
    probeAt === null || probeAt <= now
      ? nothing
      : localized(`, next in ${until(probeAt, now)}`, `, de novo em ${until(probeAt, now)}`)
  return append(
    localized(`provider ${quoted(name)} has stopped`, `o provedor ${quoted(name)} parou`),
    own,
    unanswered(consecutiveWaits, waitingSince, now),
    lastProbeError(provider),
    localized('; it is asked once a minute', '; ele é consultado uma vez por minuto'),
    next,
  )
}

/** `; it has asked to wait 12 times in 25 min, without one answer` */
function unanswered(waits: number, since: Date | null, now: Date): LocalizedText {
  if (since === null || waits < 2) return nothing
  const span = until(now, since)
  return localized(
    `; it has asked to wait ${waits} times in ${span}, without one answer`,
    `; já pediu para esperar ${waits} vezes em ${span}, sem uma resposta sequer`,
  )
}

/** `; the last time it was asked: 500` */
export const lastProbeError = ({ probeError }: ProviderFacts): LocalizedText =>
  probeError === null || probeError.trim() === ''
    ? nothing
    : localized(`; the last time it was asked: ${message(probeError)}`, `; na última consulta: ${message(probeError)}`)

/** A shorter wait is over before a person has typed the command. */
const worthClearingMs = 60_000

/** Returns the advice, as arguments of `explained`: for a long wait there is a command. */
export function waitFor({ name, freeAt, stoppedAt }: ProviderFacts, now: Date): Advised {
  if (stoppedAt === null && (freeAt === null || freeAt.getTime() - now.getTime() < worthClearingMs))
    return ['wait', wait]
  const lever = localized(
    '; if you know that it answers, have it asked at once',
    '; se você sabe que ele responde, mande consultá-lo já',
  )
  return ['wait', append(wait, lever), `retoma providers clear ${typed(name)}`]
}

type Advised = [action: 'wait', text: LocalizedText, command?: string]

/** Adds the provider to another explanation. */
export const besidesProvider = (provider: ProviderFacts | null, now: Date): LocalizedText =>
  provider === null ? nothing : append(localized('; ', '; '), whyProvider(withShortMessages(provider), now))

/** For a sentence with another reason. */
export const withShortMessages = (provider: ProviderFacts): ProviderFacts => ({
  ...provider,
  message: provider.message === null ? null : messageBeside(provider.message),
  probeError: provider.probeError === null ? null : messageBeside(provider.probeError),
})
