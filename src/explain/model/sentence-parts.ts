/** Formats the parts of an explanation: names that cannot break a sentence, durations, counts up to `most`. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { whole } from '../../lib/values/format-number.ts'
import { type Count, most } from './explain-facts.ts'
import type { AdviceAction, LocalizedExplanation, Verdict } from './explanation.ts'
import { cut } from './explanation.ts'

const longestName = 60
const longestMessage = 200
const longestMessageBeside = 150

/** Quotes a name of a user: a single line, short, without double quotes inside. */
export const quoted = (name: string): string => `"${short(name, longestName).replaceAll('"', "'")}"`

/** Shortens the message of an error for a sentence. */
export const message = (text: string): string => short(text, longestMessage)

/** The same for a message beside another reason: the whole sentence stays below 900 characters. */
export const messageBeside = (text: string): string => short(text, longestMessageBeside)

// Line separators and direction characters would break or reverse the line.
const short = (text: string, longest: number): string =>
  cut(text.slice(0, longest * 4).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' '), longest).trim()

/** Quotes a name for a shell. */
export const typed = (name: string): string => (/^[\w.:@/-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`)

/** Age of an instant by the clock of the database; 0 for an instant in the future. */
export const since = (at: Date, now: Date): string => spanText((now.getTime() - at.getTime()) / 1000)
/** Time until an instant, rounded up, so that a person who returns then is not early. */
export const until = (at: Date, now: Date): string => spanText(Math.ceil((at.getTime() - now.getTime()) / 1000))
export const lasting = (ms: number): string => spanText(ms / 1000)

export const counted = (number: number): LocalizedText => localized(whole(number, 'en'), whole(number, 'pt'))
/** `340`, or `more than 10,000` if the count stopped. */
export const upToMost = ({ jobs, more }: Count): LocalizedText =>
  more ? localized(`more than ${whole(most, 'en')}`, `mais de ${whole(most, 'pt')}`) : counted(jobs)

export const append = (...parts: readonly LocalizedText[]): LocalizedText =>
  localized(parts.map(part => part.en).join(''), parts.map(part => part.pt).join(''))
export const nothing = localized('', '')

const few = 5
/** `mail, sync, …` */
export const listed = (names: readonly string[]): string =>
  [...names.slice(0, few).map(name => short(name, 40)), ...(names.length > few ? ['…'] : [])].join(', ')

export const explained = (
  verdict: Verdict,
  sentence: LocalizedText,
  action: AdviceAction,
  text: LocalizedText,
  command: string | null = null,
): LocalizedExplanation => ({ verdict, sentence, advice: { action, text, command } })

/** Explains a job or a batch in a paused queue. `what`: the subject; `more`: the rest of the sentence. */
export const queueIsPaused = (what: LocalizedText, queue: string, more: LocalizedText): LocalizedExplanation =>
  explained(
    'paused',
    append(
      localized(
        `${what.en} waits because its queue ${quoted(queue)} is paused`,
        `${what.pt} espera porque a fila ${quoted(queue)} está pausada`,
      ),
      more,
    ),
    'resume',
    localized('resume the queue when it is time', 'retome a fila quando for a hora'),
    `retoma queues resume ${typed(queue)}`,
  )

export const wait = localized('wait; it goes on by itself', 'espere; continua sozinho')
export const nothingToDo = localized('nothing to do', 'nada a fazer')
