/** Checks the environment variables of a child, an option of defineJob and of ctx.isolated. */
import { shownValue } from '../../lib/values/json.ts'

/** Names of variables besides the harmless variables of every child (isolation/child-environment.ts), or all variables of the worker. */
export type ChildEnvironment = readonly string[] | 'all'

const name = /^[A-Za-z_][A-Za-z0-9_]*$/
const mostNames = 100

/** `problem` throws with the reason in both languages. */
export function checkChildEnvironment(given: unknown, problem: (en: string, pt: string) => never): ChildEnvironment {
  if (given === 'all') return given
  const isList = Array.isArray(given) && given.length <= mostNames
  if (!isList || !given.every(each => typeof each === 'string' && name.test(each)))
    problem(
      `it is a list of at most ${mostNames} names of environment variables, or 'all', not ${shownValue(given)}`,
      `é uma lista de no máximo ${mostNames} nomes de variáveis de ambiente, ou 'all', não ${shownValue(given)}`,
    )
  // Sorted, because children with equal variables are interchangeable.
  return [...new Set(given as string[])].sort()
}
