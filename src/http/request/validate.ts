/** Validates input against the schema of a route. The first problem is reported with the field's name, in both languages. */
import type { z } from 'zod'
import { type Language, localized, RetomaError } from '../../errors/errors.ts'
import { type Issue, parse } from './parse-schema.ts'
import { validationMessage } from './validation-messages.ts'

/** `where`: params, query or body; reported as the field if the problem has no path. */
export function validate<S extends z.ZodType>(schema: S, given: unknown, where: string): z.output<S> {
  const parsed = parse(schema, given)
  if (!parsed.issue) return parsed.value as z.output<S>
  const { issue } = parsed
  throw new RetomaError('bad_request', { field: fieldOf(issue) || where, problem: problemOf(issue) })
}

/** A message of the schema's own, if there is one, is the same in both languages, unless `params.pt` of a refinement has the Portuguese. */
function problemOf(issue: Issue) {
  const messageIn = (language: Language) => validationMessage(language)(issue as z.core.$ZodRawIssue)
  const en = messageIn('en')
  return issue.message === '' || issue.message === en
    ? localized(en, messageIn('pt'))
    : localized(issue.message, portugueseOf(issue) ?? issue.message)
}

function portugueseOf(issue: Issue): string | undefined {
  const pt = issue.code === 'custom' ? issue.params?.pt : undefined
  return typeof pt === 'string' ? pt : undefined
}

/** `jobs[3].priority`; for an unknown name, the name. */
function fieldOf(issue: Issue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`)).join('')
}
