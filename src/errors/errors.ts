/**
 * Defines the error of Retoma and of applications: a code and facts, with a sentence in English or in Portuguese. The code is in
 * error-table.ts, or comes from an application (errors/app-errors.ts). The type of `new RetomaError(code, facts)` follows from the
 * English sentence, so that no fact can be forgotten.
 *
 * Invariant: an error carries its own entry of the table, so that a catcher needs no table to print the error.
 */
import { brand, hasBrand } from './brand.ts'
import { type Entry, errorTable } from './error-table.ts'

export type { Entry } from './error-table.ts'
/** The code of an error of Retoma; docs/errors.md lists the codes. */
export type ErrorCode = keyof typeof errorTable
/** The language of a sentence. */
export type Language = 'en' | 'pt'

/** An error of an application, made by `defineErrors`. */
export interface OwnError<C extends string = string, En extends string = string> extends Readonly<Entry> {
  readonly code: C
  readonly en: En
}

/** Names an error. */
export type ErrorName = ErrorCode | OwnError
type English<C extends ErrorCode> = (typeof errorTable)[C]['en']
type Sentence<N extends ErrorName> =
  N extends OwnError<string, infer En> ? En : N extends ErrorCode ? English<N> : never
type Names<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** A fact that is a part of a sentence has both languages. */
export type LocalizedText = Readonly<Record<Language, string>>
/** A text in both languages, for a fact of an error. */
export const localized = (en: string, pt: string): LocalizedText => ({ en, pt })
/** A value in the sentence of an error. */
export type ErrorFact = string | number | LocalizedText
/** The facts that the English sentence of an error names. */
export type ErrorFacts<N extends ErrorName> = Record<Names<Sentence<N>>, ErrorFact>

/** The error of every refused call: a stable `code`, a sentence and the facts. docs/errors.md lists the codes. */
export class RetomaError<N extends ErrorName = ErrorName> extends Error {
  override readonly name = 'RetomaError'
  /** The stable code, such as `bad_option`. */
  readonly code: N extends OwnError<infer C> ? C : N
  /** The values in the sentence, by name. */
  readonly facts: Readonly<Record<string, ErrorFact>>
  /** Delay until a retry makes sense, if known. */
  readonly retryAfterSeconds?: number
  /** For a database without an answer: true, the write may have been committed; false, the write was not committed. */
  readonly maybeCommitted?: boolean
  readonly #entry: Readonly<Entry> | OwnError

  constructor(
    error: N,
    facts: ErrorFacts<N>,
    options?: ErrorOptions & {
      /** Delay until a retry makes sense. Default: unknown. */
      retryAfterSeconds?: number
      /** The write may have been committed. Default: not said. */
      maybeCommitted?: boolean
    },
  ) {
    const entry = entryOf(error)
    const code = codeOf(error)
    if (entry?.en === undefined) throw unknownError(error)
    super(`${code}: ${sentence(entry, facts, 'en')}`, options)
    this.#entry = entry
    this.code = code
    this.facts = facts
    if (options?.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds
    if (options?.maybeCommitted !== undefined) this.maybeCommitted = options.maybeCommitted
    brand(this, 'error')
  }

  /**
   * Returns the sentence without the code, in the language of the reader. `longestFact`: largest length of a fact; a longer fact
   * is cut.
   */
  in(language: Language, longestFact = Number.POSITIVE_INFINITY): string {
    return sentence(this.#entry, cutFacts(this.facts, longestFact), language)
  }

  /** Returns the facts in the language of the reader. */
  factsIn(language: Language, longestFact = Number.POSITIVE_INFINITY): Record<string, string | number> {
    const facts = cutFacts(this.facts, longestFact)
    return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, said(fact, language) ?? '']))
  }

  /** The HTTP status. */
  get status(): number {
    return this.#entry.status
  }

  /** The same call may succeed later. */
  get retryable(): boolean {
    return this.#entry.retryable === true
  }

  /** The entry in the table of an application, if the error comes from an application. */
  get own(): OwnError | undefined {
    return 'code' in this.#entry ? this.#entry : undefined
  }
}

const unknownError = (given: unknown): RetomaError =>
  new RetomaError('bad_option', {
    option: 'error',
    problem: localized(
      `it is a code of Retoma (docs/errors.md) or an error that defineErrors made, not ${String(given)}`,
      `é um código do Retoma (docs/errors.md) ou um erro feito por defineErrors, não ${String(given)}`,
    ),
  })

/** True for a code of Retoma itself; the codes of an application (`defineErrors`) are not among them. */
export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

/** Returns the entry: the HTTP status, and the sentences with the names of the facts in braces. */
export const entryOf = (error: ErrorName): Readonly<Entry> | OwnError =>
  typeof error === 'string' ? errorTable[error] : error

export const codeOf = <N extends ErrorName>(error: N): RetomaError<N>['code'] =>
  (typeof error === 'string' ? error : error?.code) as RetomaError<N>['code']

/**
 * Returns true for an error of Retoma, or for the error with this code; also for errors of another copy of the package.
 *
 * @example
 * try {
 *   await engine.jobs.retry(id)
 * } catch (error) {
 *   if (!isRetomaError(error, 'wrong_state')) throw error
 * }
 */
export function isRetomaError<N extends ErrorName>(error: unknown, which?: N): error is RetomaError<N> {
  if (!hasBrand(error, 'error')) return false
  return which === undefined || (error as RetomaError).code === codeOf(which)
}

function sentence(entry: Readonly<Entry>, facts: Readonly<Record<string, ErrorFact>>, language: Language): string {
  return entry[language].replace(/\{(\w+)\}/g, (_, name: string) => String(said(facts[name], language)))
}

const said = (fact: ErrorFact | undefined, language: Language) => (typeof fact === 'object' ? fact[language] : fact)

/** A fact may quote a given value, and so may a fact that is a part of a sentence. */
const cutFacts = (facts: Readonly<Record<string, ErrorFact>>, longest: number): Readonly<Record<string, ErrorFact>> =>
  Number.isFinite(longest)
    ? Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, cutFact(fact, longest)]))
    : facts

function cutFact(fact: ErrorFact, longest: number): ErrorFact {
  if (typeof fact === 'string') return cutText(fact, longest)
  return typeof fact === 'object' ? localized(cutText(fact.en, longest), cutText(fact.pt, longest)) : fact
}

const cutText = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text
