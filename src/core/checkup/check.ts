/**
 * One line of a check-up: what was looked at, how it is, in one sentence, and what to do about it. The checks beside this
 * file are pure: facts in, a verdict out.
 */
import type { Saying } from '../../errors.ts'

/** unseen: it could not be looked at, mostly because something before it failed. */
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
  readonly sentence: Saying
  readonly advice?: Saying
}

export const ok = (name: CheckName, sentence: Saying): Check => ({ name, verdict: 'ok', sentence })
export const warning = (name: CheckName, sentence: Saying, advice: Saying): Check => ({
  name,
  verdict: 'warning',
  sentence,
  advice,
})
export const failure = (name: CheckName, sentence: Saying, advice: Saying): Check => ({
  name,
  verdict: 'failure',
  sentence,
  advice,
})
export const unseen = (name: CheckName, sentence: Saying): Check => ({ name, verdict: 'unseen', sentence })

/** `412`, or `10000+` where the counting stopped. */
export const upTo = (count: number, most: number): string => (count >= most ? `${most}+` : String(count))
