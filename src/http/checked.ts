/** What came in, held against a route's schema: the first thing wrong is refused by its name, in both languages. */
import type { z } from 'zod'
import { type Language, RetomaError, say } from '../errors.ts'
import { problemIn } from './problem.ts'

/** `where`: params, query or body; what is wrong is named below it only when it lies deeper. */
export function checked<S extends z.ZodType>(schema: S, given: unknown, where: string): z.output<S> {
  const found = schema.safeParse(given)
  if (found.success) return found.data
  const issue = closest(found.error.issues[0]!)
  const told = (language: Language) =>
    closest(schema.safeParse(given, { error: problemIn(language) }).error!.issues[0]!).message
  const field = fieldOf(issue) || where
  throw new RetomaError('bad_request', { field, problem: say(told('en'), told('pt')) })
}

/** Of a choice of forms: what is wrong with the one that was meant, which is the one with the least wrong below its root. */
function closest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const forms = issue.errors.filter(
    ([first]) => first !== undefined && (first.path.length > 0 || first.code !== 'invalid_type'),
  )
  const meant = forms.sort((a, b) => a.length - b.length)[0]?.[0]
  return meant === undefined ? issue : closest({ ...meant, path: [...issue.path, ...meant.path] } as z.core.$ZodIssue)
}

/** `jobs[3].priority`; of a name that is not known, that name. */
function fieldOf(issue: z.core.$ZodIssue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('')
}
