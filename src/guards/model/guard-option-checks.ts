/** Checks single options of `defineGuard`; an invalid option goes to `refuse`, in both languages. */

import { suggestion } from '../../errors/did-you-mean.ts'
import type { Refuse } from '../../errors/invalid-option.ts'
import { type Duration, longestDuration, seconds } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { encodeValue, maxValueBytes } from '../../lib/values/value-codec.ts'
import { isTimeZone } from '../../schedules/model/recurrence.ts'
import { type GuardValue, isNow } from './guard-value.ts'
import { isName } from './table-name.ts'

export function duration(option: string, given: Duration, refuse: Refuse): Duration {
  if (Number.isInteger(given) && given >= seconds(1) && given <= longestDuration) return given
  return refuse(
    `${option} must be a duration from 1 second to 100 years, such as minutes(10), not ${shownValue(given)}`,
    `${option} deve ser uma duração de 1 segundo a 100 anos, como minutes(10), não ${shownValue(given)}`,
  )
}

export function limitOf(limit: number, refuse: Refuse): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) return limit
  return refuse(
    `limit must be a whole number from 1 to 10000, not ${shownValue(limit)}`,
    `limit deve ser um número inteiro de 1 a 10000, não ${shownValue(limit)}`,
  )
}

export function zoneOf(zone: string, refuse: Refuse): string {
  if (typeof zone === 'string' && isTimeZone(zone)) return zone
  const hint = suggestion(String(zone), Intl.supportedValuesOf('timeZone'))
  return refuse(
    `there is no time zone "${zone}"${hint.en || ', such as America/Sao_Paulo'}`,
    `não existe o fuso horário "${zone}"${hint.pt || ', como America/Sao_Paulo'}`,
  )
}

export function column(option: string, name: unknown, refuse: Refuse): string {
  if (isName(name)) return name
  return refuse(
    `${option} must name a column, not ${shownValue(name)}`,
    `${option} deve nomear uma coluna, não ${shownValue(name)}`,
  )
}

export function value(option: string, given: unknown, refuse: Refuse): GuardValue {
  const isBad =
    given === undefined ||
    typeof given === 'function' ||
    typeof given === 'symbol' ||
    isNow(given) ||
    (given instanceof Date && Number.isNaN(given.getTime()))
  if (isBad)
    refuse(
      `${option} must be a text, a number, true, false, a Date, an object or null`,
      `${option} deve ser um texto, um número, true, false, uma Date, um objeto ou null`,
    )
  // Another program reads the value: a `$retoma` tag is not allowed.
  const plain = typeof given === 'bigint' ? String(given) : given instanceof Date ? given.toISOString() : given
  const encoded = encodeValue(plain, { root: option, maxBytes: maxValueBytes, jsonb: true, plain: true })
  if (!encoded.ok) refuse(encoded.problem.en, encoded.problem.pt)
  return given as GuardValue
}

export function record<T extends object>(option: string, given: T, refuse: Refuse): T {
  if (given !== null && typeof given === 'object' && !Array.isArray(given)) return given
  return refuse(
    `${option} must be an object, not ${shownValue(given)}`,
    `${option} deve ser um objeto, não ${shownValue(given)}`,
  )
}
