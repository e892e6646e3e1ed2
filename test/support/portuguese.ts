/** For what is refused: whether its Portuguese is Portuguese to the end. */
import type { RetomaError } from '../../src/errors/errors.ts'

// Words that no sentence of ours does without in English, and that are no words in Portuguese.
const english = /(?<![\p{L}.])(?:an|and|are|by|cannot|did|from|has|is|it|its|must|not|of|or|such|the|there|to|was|which|with|you)(?!\p{L})/giu // biome-ignore format: read as one list

/** The English left in the Portuguese of an error; a text in quotes is somebody's own. */
export function englishIn(error: unknown): string[] {
  const reported = (error as RetomaError).in('pt').replaceAll(/"[^"]*"/g, '""')
  return Array.from(reported.matchAll(english), ([word]) => `${word} in: ${reported}`)
}
