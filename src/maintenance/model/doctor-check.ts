/**
 * Defines a check of the doctor: the name, the verdict, a sentence, and advice. The checks beside this file are pure functions
 * from facts to a verdict.
 */
import type { LocalizedText } from '../../errors/errors.ts'

/** unseen: the check could not run, mostly because an earlier check failed. */
type CheckVerdict = 'ok' | 'warning' | 'failure' | 'unseen'

export const checkNames = [
  'settings',
  'database',
  'version',
  'clock',
  'schema',
  'rights',
  'durability',
  'disk',
  'connections',
  'vacuum',
  'pins',
  'listen',
  'starved',
  'workers',
  'paused',
  'watchdog',
  'findings',
  'guards',
] as const
export type CheckName = (typeof checkNames)[number]

export interface Check {
  readonly name: CheckName
  readonly verdict: CheckVerdict
  readonly sentence: LocalizedText
  readonly advice?: LocalizedText
}

export const ok = (name: CheckName, sentence: LocalizedText): Check => ({ name, verdict: 'ok', sentence })
export const warning = (name: CheckName, sentence: LocalizedText, advice: LocalizedText): Check => ({
  name,
  verdict: 'warning',
  sentence,
  advice,
})
export const failure = (name: CheckName, sentence: LocalizedText, advice: LocalizedText): Check => ({
  name,
  verdict: 'failure',
  sentence,
  advice,
})
export const unseen = (name: CheckName, sentence: LocalizedText): Check => ({ name, verdict: 'unseen', sentence })

/** `412`, or `10000+` if the count stopped. */
export const upTo = (count: number, most: number): string => (count >= most ? `${most}+` : String(count))
