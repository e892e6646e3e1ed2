/**
 * Messages of a page or a component, in both languages. Each page keeps its messages beside its components (`messages.ts`), so that a
 * page loads only its own messages. A message is a text, or a function of the values that the message shows.
 */
import { type Language, useLanguage } from './language.ts'

/** The same names, with any text: the English messages must have exactly the names of the Portuguese messages. */
export type Shape<T> = T extends string
  ? string
  : T extends (...values: infer Values) => string
    ? (...values: Values) => string
    : { [Name in keyof T]: Shape<T[Name]> }

export type Messages<Words> = Readonly<Record<Language, Words>>

/** Portuguese first: the English messages are checked against the Portuguese messages. */
export const defineMessages = <T>(portuguese: T, english: Shape<T>): Messages<Shape<T>> => ({
  'pt-BR': portuguese as Shape<T>,
  en: english,
})

/** The messages in the language of the dashboard. */
export const useMessages = <Words>(messages: Messages<Words>): Words => messages[useLanguage()]

const numbers: Readonly<Record<Language, Intl.NumberFormat>> = {
  'pt-BR': new Intl.NumberFormat('pt-BR'),
  en: new Intl.NumberFormat('en'),
}

/**
 * For messages with a number: `plural('pt-BR', 2, 'item', 'itens')` is "2 itens". Only 1 takes the singular: the rules of the browser give
 * Portuguese "0 item" too, which nobody writes.
 */
export const plural = (language: Language, count: number, one: string, other: string): string =>
  `${numbers[language].format(count)} ${count === 1 ? one : other}`
