/**
 * Words validation problems for the sender of a value. Zod's own messages are for programmers ("received undefined") and only half
 * translated to Portuguese; they serve for problems without a message here.
 */
import { z } from 'zod'
import { suggestion } from '../../errors/did-you-mean.ts'
import { type Language, type LocalizedText, localized } from '../../errors/errors.ts'

type Issue = z.core.$ZodRawIssue

const zods = { en: z.locales.en().localeError, pt: z.locales.pt().localeError }

const types: Record<string, LocalizedText> = {
  string: localized('a text', 'um texto'),
  number: localized('a number', 'um número'),
  int: localized('a whole number', 'um número inteiro'),
  boolean: localized('true or false', 'true ou false'),
  array: localized('a list', 'uma lista'),
  object: localized('an object', 'um objeto'),
}

const required = localized('it is required', 'é obrigatório')

export function validationMessage(language: Language): (issue: Issue) => string {
  return issue => {
    const found = problemOf(issue)
    if (found !== undefined) return found[language]
    const said = zods[language](issue)
    return typeof said === 'string' ? said : (said?.message ?? '')
  }
}

function problemOf(issue: Issue): LocalizedText | undefined {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return required
  switch (issue.code) {
    case 'invalid_type': {
      const type = types[String(issue.expected)]
      return type && localized(`it is ${type.en}`, `deve ser ${type.pt}`)
    }
    case 'invalid_value': {
      const values = (issue.values as unknown[]).join(', ')
      return localized(`it is one of: ${values}`, `deve ser um destes: ${values}`)
    }
    case 'invalid_union':
      return localized('it has none of the forms that are taken here', 'não tem nenhuma das formas aceitas aqui')
    case 'unrecognized_keys':
      return unknownField(issue)
    case 'too_small':
      return atLeast(String(issue.origin), Number(issue.minimum))
    case 'too_big':
      return atMost(String(issue.origin), Number(issue.maximum))
    case 'invalid_format':
      // A regular expression means nothing to a reader who is no programmer.
      if (issue.format === 'regex')
        return localized('it does not have the form that is taken here', 'não tem o formato aceito aqui')
      if (issue.format !== 'datetime') return undefined
      return localized(
        'it is an instant such as 2026-01-31T12:00:00Z',
        'deve ser um instante como 2026-01-31T12:00:00Z',
      )
    default:
      return undefined
  }
}

/** Adds the field that the sender probably meant, if a known field is similar enough. */
function unknownField(issue: Issue): LocalizedText {
  const { keys, known = [] } = issue as { keys?: readonly string[]; known?: readonly string[] }
  const hint = suggestion(String(keys?.[0]), known)
  return localized(`there is no such field${hint.en}`, `não existe esse campo${hint.pt}`)
}

function atLeast(of: string, least: number): LocalizedText {
  if (of === 'string' || of === 'array')
    return least === 1
      ? localized('it is empty', 'está vazio')
      : localized(`it is shorter than ${least}`, `é menor que ${least}`)
  return localized(`it is ${least} or more`, `deve ser ${decimal(least)} ou mais`)
}

function atMost(of: string, most: number): LocalizedText {
  if (of === 'string') return localized(`it has at most ${most} characters`, `deve ter no máximo ${most} caracteres`)
  if (of === 'array') return localized(`it has at most ${most} items`, `deve ter no máximo ${most} itens`)
  if (of === 'object') return localized(`it has at most ${most} properties`, `deve ter no máximo ${most} campos`)
  return localized(`it is ${most} or less`, `deve ser ${decimal(most)} ou menos`)
}

/** With the decimal comma of Portuguese. */
const decimal = (number: number): string => String(number).replace('.', ',')
