/**
 * The error Retoma raises: a code of error-table.ts and its facts, told in English or in Portuguese. The type of
 * `new RetomaError(code, facts)` is read off the English sentence, so a fact cannot be forgotten.
 */
import { brand, hasBrand } from './brand.ts'
import { type Entry, errorTable } from './error-table.ts'

export type ErrorCode = keyof typeof errorTable
export type Language = 'en' | 'pt'

type Names<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** A fact that is itself a piece of a sentence comes in both languages. */
export type Saying = Readonly<Record<Language, string>>
export const say = (en: string, pt: string): Saying => ({ en, pt })
export type Fact = string | number | Saying
type Facts<C extends ErrorCode> = Record<Names<(typeof errorTable)[C]['en']>, Fact>

export class RetomaError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'RetomaError'
  readonly code: C
  readonly facts: Readonly<Record<string, Fact>>
  /** When it is worth trying again, where that is known. */
  readonly retryAfterSeconds?: number

  constructor(code: C, facts: Facts<C>, options?: ErrorOptions & { retryAfterSeconds?: number }) {
    super(`${code}: ${sentence(code, facts, 'en')}`, options)
    this.code = code
    this.facts = facts
    if (options?.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds
    brand(this, 'error')
  }

  /** The sentence without the code, in the reader's language. */
  in(language: Language): string {
    return sentence(this.code, this.facts, language)
  }

  /** The facts as a reader of that language gets them. */
  factsIn(language: Language): Record<string, string | number> {
    return Object.fromEntries(Object.entries(this.facts).map(([name, fact]) => [name, said(fact, language) ?? '']))
  }

  get status(): number {
    return errorTable[this.code].status
  }

  /** The same call may well succeed later. */
  get retryable(): boolean {
    const entry: Entry = errorTable[this.code]
    return entry.retryable === true
  }
}

/** With which HTTP status an error leaves, and its sentence with the names of its facts in braces. */
export const entryOf = (code: ErrorCode): Readonly<Entry> => errorTable[code]

export function isRetomaError<C extends ErrorCode>(error: unknown, code?: C): error is RetomaError<C> {
  return hasBrand(error, 'error') && (code === undefined || (error as RetomaError).code === code)
}

function sentence(code: ErrorCode, facts: Readonly<Record<string, Fact>>, language: Language): string {
  return errorTable[code][language].replace(/\{(\w+)\}/g, (_, name: string) => String(said(facts[name], language)))
}

const said = (fact: Fact | undefined, language: Language) => (typeof fact === 'object' ? fact[language] : fact)
