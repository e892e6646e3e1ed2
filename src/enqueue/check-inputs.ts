/** Checks the inputs of many jobs in slices, so that the process answers other requests in between. */

import type { AnyJob } from '../jobs/model/job.ts'
import { sliceLength, turnOfLoop } from '../lib/loop-turns.ts'
import { checkedInput } from './model/job-input.ts'

/** Fixed cost of a short input, as a number of characters. */
const perInput = 100

interface Given {
  job: AnyJob
  input: unknown
}

/**
 * Answers the JSON texts in the order of the list; throws `bad_input` or `input_too_large` for the first invalid input, and names
 * the index if `isList`.
 */
export async function checkedInputs(given: readonly Given[], isList: boolean): Promise<string[]> {
  const texts: string[] = []
  let length = 0
  for (const [index, { job, input }] of given.entries()) {
    const text = await checkedInput(job, input, isList ? index : undefined, turnOfLoop)
    texts.push(text)
    length += text.length + perInput
    if (length < sliceLength) continue
    length = 0
    await turnOfLoop()
  }
  return texts
}
