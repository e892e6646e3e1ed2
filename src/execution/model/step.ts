/** Checks the name and the options of a step. */

import { type Refuse, refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { type Backoff, defaultBackoff } from '../../jobs/model/backoff.ts'
import type { StepOptions } from '../../jobs/model/job-context.ts'
import { backoffOf } from '../../jobs/model/policy-options.ts'
import { megabytes } from '../../lib/values/bytes.ts'
import { longestDuration } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { maxValueBytes } from '../../lib/values/value-codec.ts'

export interface CheckedStep {
  maxAttempts: number
  backoff: Backoff
  timeoutMs: number
  maxBytes: number
}

const names = ['maxAttempts', 'backoff', 'timeout', 'maxBytes']
const longestName = 200
const refusedBackoff: Refuse = (en, pt) => refuseOption('backoff', en, pt)

export function checkStepName(name: unknown): string {
  if (
    typeof name !== 'string' ||
    name.length === 0 ||
    name.length > longestName ||
    !name.isWellFormed() ||
    name.includes('\u0000')
  )
    refuseOption(
      'name',
      `a step's name is a text of 1 to ${longestName} characters, not ${shownValue(name)}`,
      `o nome de uma etapa é um texto de 1 a ${longestName} caracteres, não ${shownValue(name)}`,
    )
  return name
}

/** `option`: the name of the argument. */
export function checkStepFunction(run: unknown, option = 'run'): void {
  if (typeof run !== 'function')
    refuseOption(option, `it is a function, not ${shownValue(run)}`, `é uma função, não ${shownValue(run)}`)
}

/** `more`: additional option names, checked by the caller. */
export function checkStepOptions(options: StepOptions = {}, more: readonly string[] = []): CheckedStep {
  if (options === null || typeof options !== 'object')
    refuseOption('options', 'it is an object, or left out', 'é um objeto, ou nada')
  refuseUnknownOptions(options, [...names, ...more])
  const { maxAttempts: attempts = 1, timeout, maxBytes = megabytes(1) } = options
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > 1000)
    refuseOption(
      'maxAttempts',
      `it is a whole number from 1 to 1000, not ${shownValue(attempts)}`,
      `é um número inteiro de 1 a 1000, não ${shownValue(attempts)}`,
    )
  if (timeout !== undefined && !(timeout > 0 && timeout <= longestDuration))
    refuseOption(
      'timeout',
      `it is a duration above zero, such as seconds(30), not ${shownValue(timeout)}`,
      `é uma duração acima de zero, como seconds(30), não ${shownValue(timeout)}`,
    )
  if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > maxValueBytes)
    refuseOption(
      'maxBytes',
      `it is a number of bytes up to megabytes(8), not ${shownValue(maxBytes)}`,
      `é um número de bytes até megabytes(8), não ${shownValue(maxBytes)}`,
    )
  return {
    maxAttempts: attempts,
    maxBytes,
    backoff:
      options.backoff === undefined ? defaultBackoff : backoffOf(options.backoff, defaultBackoff, refusedBackoff, '')!,
    timeoutMs: timeout ?? Number.POSITIVE_INFINITY,
  }
}
