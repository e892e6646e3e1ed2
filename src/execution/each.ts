/**
 * `ctx.each`: runs a step for every element of a list, so that an interrupted job continues inside the list.
 *
 * Invariant: a saved element never runs again. Without `key`, elements are matched by index, so the list must stay the same: the first
 * checkpoint holds a hash of the list. If an element fails, no further element starts and the started elements finish; with `collect` the
 * failure is a result among the others. An error that ends the whole attempt never counts as the failure of an element.
 */
import { createHash } from 'node:crypto'
import { isRetomaError, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Collected, EachOptions } from '../jobs/model/job-context.ts'
import { doNotRetry } from '../jobs/model/outcome.ts'
import { asText, shownValue } from '../lib/values/json.ts'
import { encodeValue } from '../lib/values/value-codec.ts'
import { checkStepFunction, checkStepName, checkStepOptions } from './model/step.ts'
import type { Steps } from './steps.ts'

export async function each<Item, Result>(
  steps: Steps,
  name: string,
  list: Iterable<Item>,
  run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
  given: EachOptions<Item> = {},
): Promise<(Result | Collected<Result>)[]> {
  checkStepName(name)
  checkStepFunction(run)
  const options = checkStepOptions(given, ['key', 'concurrency', 'collect'])
  const { key, concurrency = 1, collect = false } = given
  if (key !== undefined && typeof key !== 'function')
    refuseOption('key', 'it is a function of an element', 'é uma função do elemento')
  if (typeof list !== 'object' || typeof list?.[Symbol.iterator] !== 'function')
    refuseOption('items', 'it is a list', 'é uma lista')
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new RetomaError('bad_option', {
      option: 'concurrency',
      problem: localized(
        `it is a whole number from 1, not ${shownValue(concurrency)}`,
        `é um número inteiro a partir de 1, não ${shownValue(concurrency)}`,
      ),
    })
  const items = [...list]
  if (key === undefined) await sameList(steps, name, items)
  const names = items.map((item, index) => `${name}[${key === undefined ? index : checkStepName(key(item, index))}]`)
  const results: (Result | Collected<Result>)[] = new Array(items.length)
  let next = 0
  let failed = false
  const work = async () => {
    while (next < items.length && !failed) {
      const index = next++
      try {
        const value = await steps.keep(names[index]!, signal => run(items[index]!, index, signal), options)
        results[index] = collect ? { ok: true, value } : value
      } catch (error) {
        if (collect && isOfElement(error, steps)) {
          results[index] = {
            ok: false,
            error: error instanceof Error ? error : new Error(asText(error), { cause: error }),
          }
          continue
        }
        failed = true
        throw error
      }
    }
  }
  const all = await Promise.allSettled(Array.from({ length: Math.min(concurrency, items.length) }, work))
  const bad = all.find(one => one.status === 'rejected')
  if (bad) throw bad.reason
  return results
}

/** False for a lost lease, a timeout or a stopping worker, and for a repeated element name. */
const isOfElement = (error: unknown, steps: Steps): boolean =>
  !steps.isOver && !isRetomaError(error, 'step_twice') && !isRetomaError(error, 'attempt_over')

async function sameList(steps: Steps, name: string, items: readonly unknown[]): Promise<void> {
  const encoded = encodeValue(items)
  const text = encoded.ok ? encoded.text : `${items.length}`
  const print = createHash('sha256').update(text).digest('base64').slice(0, 22)
  const saved = await steps.step(name, () => ({ length: items.length, print }))
  if (saved.length !== items.length || saved.print !== print)
    throw doNotRetry(new RetomaError('list_changed', { step: name }))
}
