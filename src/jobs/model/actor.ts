/**
 * Checks the actor of an action. The actor is stored with the action and published in the event; the caller chooses the name, or
 * none.
 */

import { refuseOption } from '../../errors/invalid-option.ts'
import { cleanText } from '../../lib/values/json.ts'

export interface ActedBy {
  /** For example the user of a token; the event of type `action` carries the name. Default: nobody is named. */
  by?: string | undefined
}

export function checkActor(given: ActedBy | undefined): string | undefined {
  const by = given?.by
  if (by === undefined) return undefined
  if (typeof by !== 'string' || by.length === 0 || by.length > 200)
    refuseOption('by', 'it is a name of 1 to 200 characters', 'é um nome de 1 a 200 caracteres')
  return cleanText(by)
}
