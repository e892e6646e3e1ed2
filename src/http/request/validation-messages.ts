/**
 * Words validation problems for the sender of a value. Zod's own messages are for programmers ("received undefined") and only half
 * translated to Portuguese; they serve for problems without a message here.
 */
import { z } from 'zod'
import { suggestion } from '../../errors/did-you-mean.ts'
import { type Language, type Saying, say } from '../../errors/errors.ts'

type Issue = z.core.$ZodRawIssue

const zods = { en: z.locales.en().localeError, pt: z.locales.pt().localeError }

const types: Record<string, Saying> = {
  string: say('a text', 'um texto'),
  number: say('a number', 'um número'),
  int: say('a whole number', 'um número inteiro'),
  boolean: say('true or false', 'true ou false'),
  array: say('a list', 'uma lista'),
  object: say('an object', 'um objeto'),
}

const required = say('it is required', 'é obrigatório')

export function validationMessage(language: Language): (issue: Issue) => string {
  return issue => {
    const found = problemOf(issue)
    if (found !== undefined) return found[language]
    const said = zods[language](issue)
    return typeof said === 'string' ? said : (said?.message ?? '')
  }
}

function problemOf(issue: Issue): Saying | undefined {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return required
  switch (issue.code) {
    case 'invalid_type': {
      const type = types[String(issue.expected)]
      return type && say(`it is ${type.en}`, `deve ser ${type.pt}`)
    }
    case 'invalid_value': {
      const values = (issue.values as unknown[]).join(', ')
      return say(`it is one of: ${values}`, `deve ser um destes: ${values}`)
    }
    case 'invalid_union':
      return say('it has none of the forms that are taken here', 'não tem nenhuma das formas aceitas aqui')
    case 'unrecognized_keys':
      return unknownField(issue)
    case 'too_small':
      return atLeast(String(issue.origin), Number(issue.minimum))
    case 'too_big':
      return atMost(String(issue.origin), Number(issue.maximum))
    case 'invalid_format':
      // A regular expression means nothing to a reader who is no programmer.
      if (issue.format === 'regex')
        return say('it does not have the form that is taken here', 'não tem o formato aceito aqui')
      if (issue.format !== 'datetime') return undefined
      return say('it is an instant such as 2026-01-31T12:00:00Z', 'deve ser um instante como 2026-01-31T12:00:00Z')
    default:
      return undefined
  }
}

/** Adds the field that the sender probably meant, if a known field is similar enough. */
function unknownField(issue: Issue): Saying {
  const { keys, known = [] } = issue as { keys?: readonly string[]; known?: readonly string[] }
  const hint = suggestion(String(keys?.[0]), known)
  return say(`there is no such field${hint.en}`, `não existe esse campo${hint.pt}`)
}

function atLeast(of: string, least: number): Saying {
  if (of === 'string' || of === 'array')
    return least === 1 ? say('it is empty', 'está vazio') : say(`it is shorter than ${least}`, `é menor que ${least}`)
  return say(`it is ${least} or more`, `deve ser ${decimal(least)} ou mais`)
}

function atMost(of: string, most: number): Saying {
  if (of === 'string') return say(`it has at most ${most} characters`, `deve ter no máximo ${most} caracteres`)
  if (of === 'array') return say(`it has at most ${most} items`, `deve ter no máximo ${most} itens`)
  return say(`it is ${most} or less`, `deve ser ${decimal(most)} ou menos`)
}

/** With the decimal comma of Portuguese. */
const decimal = (number: number): string => String(number).replace('.', ',')
