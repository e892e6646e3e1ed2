/** Suggests the nearest known word ("did you mean") for a likely typo. */
import { type LocalizedText, localized } from './errors.ts'

/** Length of the longest name: a longer word is no typo of a name, and the comparison takes time for each letter. */
const longestWord = 100

export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > longestWord) return undefined
  const allowed = Math.max(1, Math.floor(word.length / 3))
  let best: { name: string; distance: number } | undefined
  for (const name of known) {
    const distance = distanceTo(word.toLowerCase(), name)
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { name, distance }
  }
  return best?.name
}

/** Returns the end of a sentence about an unknown word: `, did you mean "classify"?` or an empty text. */
export function suggestion(word: string, known: readonly string[]): LocalizedText {
  const name = nearest(word, known)
  return name === undefined ? localized('', '') : localized(`, did you mean "${name}"?`, `, você quis dizer "${name}"?`)
}

/** Returns the nearest word, otherwise the list of all words. */
export function hintFor(word: string, known: readonly string[]): LocalizedText {
  const name = nearest(word, known)
  if (name !== undefined) return localized(`did you mean "${name}"?`, `você quis dizer "${name}"?`)
  const all = known.join(', ')
  return all === ''
    ? localized('none is registered', 'nenhum está registrado')
    : localized(`there is: ${all}`, `há: ${all}`)
}

/** A name may be written without its first word: `attempts` for `maxAttempts`. The whole name counts as nearer. */
function distanceTo(word: string, name: string): number {
  const whole = edits(word, name.toLowerCase())
  const rest = /^[a-z]+([A-Z].*)$/.exec(name)?.[1]
  return rest === undefined ? whole : Math.min(whole, edits(word, rest.toLowerCase()) + 0.5)
}

/** Damerau-Levenshtein distance (a swap of two neighbours counts as a single edit). Words are short, so quadratic time is fine. */
function edits(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1)
      row.push(best)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
