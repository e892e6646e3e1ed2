/**
 * Defines the errors of an application besides the errors of Retoma: a table with a code, an HTTP status and a sentence in both
 * languages. `new RetomaError(errors.sold_out, { seat })` raises an error of the table; a route lists the error among its
 * `errors`, and the response has the form of Retoma's errors.
 *
 * Invariant: a code stands for a single error in a process. A table cannot redefine a code of Retoma, and two tables with the
 * same code do not start together; two tables that import the same definition share the error.
 */
import { type Entry, isErrorCode, localized, type OwnError } from './errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from './invalid-option.ts'

/** The answer of `defineErrors`: the errors of an application by code. */
export type OwnErrors<T extends Record<string, Entry> = Record<string, Entry>> = {
  readonly [C in keyof T & string]: OwnError<C, T[C]['en']>
}

const codePattern = /^[a-z][a-z0-9_]{0,59}$/
const entryKeys = ['status', 'retryable', 'en', 'pt']

/**
 * Defines the errors of an application. The types follow from the English sentences: a caller gives a fact for each name in braces. Throws
 * `bad_definition`.
 *
 * @example
 * const errors = defineErrors({
 *   sold_out: { status: 409, en: 'seat {seat} is sold', pt: 'o assento {seat} já foi vendido' },
 * })
 * const error = new RetomaError(errors.sold_out, { seat: '4F' })
 */
export function defineErrors<const T extends Record<string, Entry>>(table: T): OwnErrors<T> {
  const all = Object.entries(table).map(([code, entry]) => {
    check(code, entry, refuseDefinition(localized(`error "${code}"`, `erro "${code}"`)))
    return [code, Object.freeze({ code, ...entry })]
  })
  return Object.freeze(Object.fromEntries(all))
}

function check(code: string, entry: Entry, refuse: Refuse): void {
  if (!codePattern.test(code))
    refuse(
      'its code must be 1 to 60 small letters, digits or "_", beginning with a letter',
      'o código deve ter de 1 a 60 letras minúsculas, dígitos ou "_", começando com letra',
    )
  if (isErrorCode(code)) refuse("that code is Retoma's own; choose another", 'esse código é do Retoma; escolha outro')
  if (typeof entry !== 'object' || entry === null)
    refuse('it needs a status and a sentence in both languages', 'faltam o status e uma frase em cada idioma')
  refuseUnknown(entry, entryKeys, refuse)
  const { status, en, pt } = entry
  if (!Number.isInteger(status) || status < 400 || status > 599)
    refuse('its status must be from 400 to 599', 'o status deve ser de 400 a 599')
  if (typeof en !== 'string' || typeof pt !== 'string' || en === '' || pt === '')
    refuse(
      'it needs a sentence in English (en) and in Portuguese (pt)',
      'faltam as frases em inglês (en) e português (pt)',
    )
  if (names(en) !== names(pt))
    refuse(
      'both sentences must name the same facts in braces',
      'as duas frases devem citar os mesmos fatos entre chaves',
    )
}

const names = (sentence: string): string =>
  [...new Set(Array.from(sentence.matchAll(/\{(\w+)\}/g), match => match[1]!))].sort().join()

/** For code that combines tables. */
export function refuseSameCode(errors: Iterable<OwnError>): void {
  const known = new Map<string, OwnError>()
  for (const error of errors) {
    const { code } = error
    if ((known.get(code) ?? error) !== error)
      refuseDefinition(localized(`error "${code}"`, `erro "${code}"`))(
        'two tables define it; give one of them another code, or let both import the same definition',
        'duas tabelas o definem; dê outro código a um deles, ou faça as duas importarem a mesma definição',
      )
    known.set(code, error)
  }
}
