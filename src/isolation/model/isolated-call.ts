/** Checks a call of `ctx.isolated` and encodes the call for the child process. */

import { localized, RetomaError } from '../../errors/errors.ts'
import { refuseOption } from '../../errors/invalid-option.ts'
import { type CheckedStep, checkStepName, checkStepOptions } from '../../execution/model/step.ts'
import { type ChildEnvironment, checkChildEnvironment } from '../../jobs/model/environment-option.ts'
import type { IsolatedOptions } from '../../jobs/model/job-context.ts'
import { moduleAddress } from '../../jobs/model/module-address.ts'
import { doNotRetry } from '../../jobs/model/outcome.ts'
import { leastMemory } from '../../jobs/model/policy-options.ts'
import { megabytes } from '../../lib/values/bytes.ts'
import { shownValue } from '../../lib/values/json.ts'
import { encodeValue } from '../../lib/values/value-codec.ts'

export interface IsolatedCall {
  readonly step: string
  /** URL of the module. */
  readonly module: string
  /** Encoded by lib/values/value-codec.ts. */
  readonly input: string
  /** Counted from the start in the child. */
  readonly timeoutMs: number
  readonly memoryBytes: number
  readonly environment: ChildEnvironment
  readonly nice: number
  readonly background: boolean
  /** Largest size of the result. */
  readonly maxBytes: number
}

const usualMemory = megabytes(512)
const mostNice = 19

/** `options`: options of the surrounding step, without a timeout, because the child has the timeout. */
export function checkIsolated(
  name: string,
  module: URL | string,
  input: unknown,
  given: IsolatedOptions = {},
): { call: IsolatedCall; options: CheckedStep } {
  const step = checkStepName(name)
  const options = checkStepOptions(given, ['memory', 'env', 'nice', 'background'])
  const { memory = usualMemory, env = [], nice = 0, background = false } = given
  if (!(Number.isSafeInteger(memory) && memory >= leastMemory)) {
    const least = `megabytes(${leastMemory / megabytes(1)})`
    refuseOption(
      'memory',
      `it is a number of bytes, at least ${least}, half of which an empty process takes, not ${shownValue(memory)}`,
      `é um número de bytes, pelo menos ${least}, metade do que um processo vazio já usa, não ${shownValue(memory)}`,
    )
  }
  if (!(Number.isInteger(nice) && nice >= 0 && nice <= mostNice))
    refuseOption(
      'nice',
      `it is a whole number from 0 to ${mostNice}, not ${shownValue(nice)}`,
      `é um número inteiro de 0 a ${mostNice}, não ${shownValue(nice)}`,
    )
  if (typeof background !== 'boolean')
    refuseOption(
      'background',
      `it is true or false, not ${shownValue(background)}`,
      `é true ou false, não ${shownValue(background)}`,
    )
  const { timeoutMs, maxBytes } = options
  const call = {
    step,
    module: addressOf(module),
    input: textOf(step, input),
    timeoutMs,
    memoryBytes: memory,
    environment: checkChildEnvironment(env, (en, pt) => refuseOption('env', en, pt)),
    nice,
    background,
    maxBytes,
  }
  return { call, options: { ...options, timeoutMs: Number.POSITIVE_INFINITY } }
}

function addressOf(module: unknown): string {
  const address = moduleAddress(module)
  if (address === null)
    refuseOption(
      'module',
      `it is the address of a file, such as new URL('./read.js', import.meta.url), not ${shownValue(module)}`,
      `é o endereço de um arquivo, como new URL('./read.js', import.meta.url), não ${shownValue(module)}`,
    )
  return address
}

/** Rejects values that would change on the way. */
function textOf(step: string, input: unknown): string {
  const encoded = encodeValue(input, { root: 'input' })
  if (encoded.ok) return encoded.text
  const what = localized(`the input of step "${step}"`, `a entrada da etapa "${step}"`)
  throw doNotRetry(new RetomaError('bad_value', { what, problem: encoded.problem }))
}
