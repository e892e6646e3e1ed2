/** Which environment variables a handler's child gets: checked where the option is given, by defineJob and by ctx.isolated. */
import { asText } from './json.ts'

/** Names of variables beside the harmless ones that every child has (isolation/environment.ts), or all that the worker has. */
export type ChildEnvironment = readonly string[] | 'all'

const name = /^[A-Za-z_][A-Za-z0-9_]*$/
const mostNames = 100

/** `problem` refuses, with the reason in both languages. */
export function checkChildEnvironment(given: unknown, problem: (en: string, pt: string) => never): ChildEnvironment {
  if (given === 'all') return given
  const isList = Array.isArray(given) && given.length <= mostNames
  if (!isList || !given.every(each => typeof each === 'string' && name.test(each)))
    problem(
      `it is a list of at most ${mostNames} names of environment variables, or 'all', not ${asText(given)}`,
      `é uma lista de no máximo ${mostNames} nomes de variáveis de ambiente, ou 'all', não ${asText(given)}`,
    )
  // Sorted: children with the same variables are used for each other.
  return [...new Set(given as string[])].sort()
}
