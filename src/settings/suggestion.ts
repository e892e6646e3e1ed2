/** "Did you mean", in both languages: the tail of a sentence about a word that is not known. */
import { nearest } from '../core/suggest.ts'
import type { Saying } from '../errors.ts'

export function suggestion(word: string, known: readonly string[]): Saying {
  const name = nearest(word, known)
  return name === undefined
    ? { en: '', pt: '' }
    : { en: `, did you mean "${name}"?`, pt: `, você quis dizer "${name}"?` }
}
