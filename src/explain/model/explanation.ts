/**
 * Defines an explanation: a verdict and an action for programs, a sentence and advice for people. An explanation answers a single
 * question: why does the job, batch or queue not advance, and should a person wait or act?
 */
import type { Language, LocalizedText } from '../../errors/errors.ts'

/**
 * ok: works normally, or ended well. waiting, busy, paused, limited, starved, suspect: does not run, and why. orphan, hung,
 * timeout, stalled, slow, unwritten, overdue: runs with a problem. The others are final.
 */
export type Verdict =
  | 'ok'
  | 'waiting'
  | 'busy'
  | 'paused'
  | 'limited'
  | 'starved'
  | 'suspect'
  | 'orphan'
  | 'hung'
  | 'timeout'
  | 'stalled'
  | 'slow'
  | 'unwritten'
  | 'overdue'
  | 'failed'
  | 'poison'
  | 'skipped'
  | 'cancelled'

/** An action that an explanation advises, with its command and its HTTP route. */
export type AdviceAction =
  | 'nothing'
  | 'wait'
  | 'resume'
  | 'retry'
  | 'retry_failed'
  | 'start_worker'
  | 'restart_worker'
  | 'deploy'
  | 'look_at_failures'
  | 'submit_again'

interface In<Text> {
  verdict: Verdict
  /** A single sentence. */
  sentence: Text
  advice: {
    action: AdviceAction
    text: Text
    /** Command for the advice, if there is a command. */
    command: string | null
  }
}

/** In both languages. */
export type LocalizedExplanation = In<LocalizedText>

/** In a single language. */
export interface Explanation extends In<string> {
  /** The facts as plain JSON: instants in ISO 8601, long texts cut, no input and no result. */
  facts: Record<string, unknown>
}

export function explanationOf(
  { verdict, sentence, advice }: LocalizedExplanation,
  facts: object,
  language: Language,
): Explanation {
  return {
    verdict,
    sentence: sentence[language],
    facts: plain(facts) as Record<string, unknown>,
    advice: { ...advice, text: advice.text[language] },
  }
}

const longest = 300
/** Texts with a higher limit, because a short part is useless. */
const longTexts: Readonly<Record<string, number>> = { stack: 8000, stderr: 4000, message: 2000 }

function plain(value: unknown, name = ''): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string') return cut(value, longTexts[name] ?? longest)
  if (Array.isArray(value)) return value.map(each => plain(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each, key)]))
}

export const cut = (text: string, longest: number): string => {
  const letters = [...text.slice(0, longest * 2)]
  return letters.length > longest ? `${letters.slice(0, longest - 1).join('')}…` : text
}
