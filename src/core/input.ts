/** A job's input on its way in: checked by its schema, as JSON text. */
import { RetomaError, type Saying, say } from '../errors.ts'
import { sliceLength, turnOfLoop } from '../lib/turn-of-loop.ts'
import type { AnyJob } from './job.ts'
import { storable } from './json.ts'

/** Throws bad_input or input_too_large; `index` names the item of a list. */
export async function checkedInput(job: AnyJob, input: unknown, index?: number): Promise<string> {
  const refuse = ({ en, pt }: Saying, code: 'bad_input' | 'input_too_large' = 'bad_input'): never => {
    const where = index === undefined ? '' : `item ${index}: `
    const facts = { kind: job.kind, problem: say(where + en, where + pt) }
    const told = index === undefined ? facts : { ...facts, item: index }
    throw new RetomaError(code, told)
  }
  const checked = storable(input)
  if (!checked.ok) return refuse(checked.problem, checked.isTooLarge ? 'input_too_large' : 'bad_input')
  // What was given is kept, not what the schema made of it: the handler's own parse then gives the same again. Parsed as
  // it will be read: a Date that a schema takes only as a Date is refused here, not at its run.
  const isLong = checked.text.length > sliceLength
  if (isLong) await turnOfLoop()
  const read = JSON.parse(checked.text)
  if (isLong) await turnOfLoop()
  const parsed = await job.parse(read)
  if ('problem' in parsed) return refuse(parsed.problem)
  return checked.text
}

/** A long list in slices, so that other requests of this process are answered in between; the texts are in the order of the list. */
export async function checkedInputs(given: readonly { job: AnyJob; input: unknown }[]): Promise<string[]> {
  const texts: string[] = []
  let length = 0
  for (const [index, { job, input }] of given.entries()) {
    const text = await checkedInput(job, input, given.length === 1 ? undefined : index)
    texts.push(text)
    length += text.length + perInput
    if (length < sliceLength) continue
    length = 0
    await turnOfLoop()
  }
  return texts
}

/** What a short input costs besides its length, in characters. */
const perInput = 100
