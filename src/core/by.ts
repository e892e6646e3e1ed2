/** Who pressed: kept with what was pressed, and told to whoever listens. A name as the caller knows it, or nobody's. */
import { cleanText } from './json.ts'
import { refuseOption } from './refuse.ts'

export interface By {
  /** Such as the user of a token; it is in the event of type `action` that tells what was pressed. */
  by?: string | undefined
}

export function checkBy(given: By | undefined): string | undefined {
  const by = given?.by
  if (by === undefined) return undefined
  if (typeof by !== 'string' || by.length === 0 || by.length > 200)
    refuseOption('by', 'it is a name of 1 to 200 characters', 'é um nome de 1 a 200 caracteres')
  return cleanText(by)
}
