/**
 * Bounds the values of an input in an HTTP request. An input is encoded and decoded in one piece: 200,000 fields take some hundred
 * milliseconds of each, in which the process answers no other request.
 */
import { RetomaError } from '../../errors/errors.ts'

/** List items and object fields of one input, at every depth. */
const mostInputValues = 50_000

/** Throws `too_many_values`. */
export function refuseWideInput(input: unknown): void {
  if (countUpTo(mostInputValues, input) > mostInputValues)
    throw new RetomaError('too_many_values', { most: mostInputValues })
}

/** Stops counting after exceeding `most`. The depth of a body is already bounded. */
function countUpTo(most: number, value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value) && value.length > most) return value.length
  let values = 0
  for (const name in value) {
    values += 1 + countUpTo(most - values, (value as Record<string, unknown>)[name])
    if (values > most) break
  }
  return values
}
