/**
 * What an explanation is: a verdict and a word of advice for programs, a sentence and the advice in words for people. Each
 * answers one question: why is it not moving, and should I wait or press something?
 */
import type { Language, Saying } from '../../errors.ts'

/**
 * ok: it goes as it should, or went well. waiting, busy, paused, limited, starved, suspect: it does not run, and why.
 * orphan, hung, timeout, stalled, slow, unwritten, overdue: something is wrong with how it runs. The others are ends.
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

export type AdviceAction =
  | 'nothing'
  | 'wait'
  | 'resume'
  | 'retry'
  | 'retry_failed'
  | 'unpause'
  | 'start_worker'
  | 'restart_worker'
  | 'deploy'
  | 'look_at_failures'
  | 'submit_again'

interface In<Text> {
  verdict: Verdict
  /** One sentence. */
  sentence: Text
  advice: {
    action: AdviceAction
    text: Text
    /** What to type, where a command does it. */
    command: string | null
  }
}

/** As it is decided, in both languages. */
export type Told = In<Saying>

/** As it is answered, in one. */
export interface Explanation extends In<string> {
  /** What is known, as plain JSON: instants in ISO 8601, long texts cut, no input and no result. */
  facts: Record<string, unknown>
}

export function explanationOf({ verdict, sentence, advice }: Told, facts: object, language: Language): Explanation {
  return {
    verdict,
    sentence: sentence[language],
    facts: plain(facts) as Record<string, unknown>,
    advice: { ...advice, text: advice.text[language] },
  }
}

const longest = 300
/** What helps only when it is whole. */
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
