/** What came in, held against a route's schema: the first thing wrong is refused by its name, in both languages. */
import type { z } from 'zod'
import { type Language, RetomaError, say } from '../errors.ts'
import { type Issue, parse } from './parse.ts'
import { problemIn } from './problem.ts'

/** `where`: params, query or body; what is wrong is named below it only when it lies deeper. */
export function checked<S extends z.ZodType>(schema: S, given: unknown, where: string): z.output<S> {
  const parsed = parse(schema, given)
  if (!parsed.issue) return parsed.value as z.output<S>
  const { issue } = parsed
  throw new RetomaError('bad_request', { field: fieldOf(issue) || where, problem: problemOf(issue) })
}

/** A schema's own words, where it has some, are the same in both languages. */
function problemOf(issue: Issue) {
  const told = (language: Language) => problemIn(language)(issue as z.core.$ZodRawIssue)
  const en = told('en')
  return issue.message === '' || issue.message === en ? say(en, told('pt')) : say(issue.message, issue.message)
}

/** `jobs[3].priority`; of a name that is not known, that name. */
function fieldOf(issue: Issue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('')
}
