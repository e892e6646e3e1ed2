/**
 * Classifies without a key: counts the words of each category in the text, without case and accents. Deterministic, takes some
 * milliseconds, and the answers are marked as simulated.
 */
import { foldHard } from '../fold.ts'
import type { Reply } from './reply.ts'

export const localModel = 'local'

const small = new Set([
  'a',
  'o',
  'as',
  'os',
  'e',
  'de',
  'da',
  'do',
  'das',
  'dos',
  'em',
  'na',
  'no',
  'para',
  'com',
  'ou',
])
/** Names of a category for the rest. */
const rest = /^(?:outr[ao]s?|divers[ao]s?|demais|geral|nao classificad[ao]s?|other|others|misc)\b/

/** `several`: every category with a word in the text is a category of the document. */
export function classifyLocally(text: string, categories: readonly string[], several = false): Reply {
  const words = new Map<string, number>()
  for (const word of foldHard(text).split(' ')) words.set(word, (words.get(word) ?? 0) + 1)
  const scored = categories.map(category => ({ category, hits: hitsOf(category, words) }))
  const total = scored.reduce((sum, { hits }) => sum + hits, 0)
  // The first of several equal scores.
  const best = scored.reduce((one, other) => (other.hits > one.hits ? other : one))
  if (best.hits === 0) {
    const category = categories.find(each => rest.test(foldHard(each))) ?? categories[0]!
    const justification = 'Classificador local: nenhuma palavra das categorias no texto.'
    return { category, confidence: 0.1, justification, ...(several ? { labels: [category] } : {}) }
  }
  const confidence = Math.round((0.4 + 0.5 * (best.hits / total)) * 100) / 100
  const times = best.hits === 1 ? 'uma ocorrência' : `${best.hits} ocorrências`
  return {
    category: best.category,
    confidence,
    justification: `Classificador local: ${times} das palavras de "${best.category}" no texto.`,
    ...(several ? { labels: scored.filter(({ hits }) => hits > 0).map(each => each.category) } : {}),
  }
}

/** A name with several words counts only as often as all words are in the text. */
function hitsOf(category: string, words: ReadonlyMap<string, number>): number {
  const all = foldHard(category).split(' ')
  const telling = all.filter(word => word.length > 1 && !small.has(word))
  const asked = telling.length === 0 ? all : telling
  const counts = asked.map(word => formsOf(word).reduce((sum, form) => sum + (words.get(form) ?? 0), 0))
  return Math.min(...counts) * asked.length
}

/** The word with the plurals, or with the singulars. */
function formsOf(word: string): string[] {
  const plurals = [`${word}s`, `${word}es`]
  if (word.endsWith('ao')) plurals.push(`${word.slice(0, -2)}oes`, `${word.slice(0, -2)}aes`)
  if (word.endsWith('l')) plurals.push(`${word.slice(0, -1)}is`)
  if (word.endsWith('m')) plurals.push(`${word.slice(0, -1)}ns`)
  if (word.endsWith('oes')) plurals.push(`${word.slice(0, -3)}ao`)
  else if (word.endsWith('ns')) plurals.push(`${word.slice(0, -2)}m`)
  else if (word.endsWith('is')) plurals.push(`${word.slice(0, -2)}l`)
  if (word.endsWith('s')) plurals.push(word.slice(0, -1))
  if (word.endsWith('es')) plurals.push(word.slice(0, -2))
  return [...new Set([word, ...plurals])]
}
