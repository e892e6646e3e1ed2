/** Checks the input of a job by the schema and encodes the input as JSON text. */
import { type LocalizedText, localized, RetomaError } from '../../errors/errors.ts'
import type { AnyJob } from '../../jobs/model/job.ts'
import { decodeText, encodeStored } from '../../lib/values/value-codec.ts'

/** Above this length, every part of the check takes a noticeable time. */
const longText = 64 * 1024

/**
 * Throws `bad_input` or `input_too_large`. `index` names the item of a list. `between` is awaited between the parts of the check
 * of a long input.
 */
export async function checkedInput(
  job: AnyJob,
  input: unknown,
  index?: number,
  between: () => Promise<void> = async () => {},
): Promise<string> {
  const refuse = ({ en, pt }: LocalizedText, code: 'bad_input' | 'input_too_large' = 'bad_input'): never => {
    const where = index === undefined ? '' : `item ${index}: `
    const facts = { kind: job.kind, problem: localized(where + en, where + pt) }
    const allFacts = index === undefined ? facts : { ...facts, item: index }
    throw new RetomaError(code, allFacts)
  }
  const encoded = encodeStored(input, 'input')
  if (!encoded.ok) return refuse(encoded.problem, encoded.isTooLarge ? 'input_too_large' : 'bad_input')
  // The given input is stored, not the output of the schema, because the handler's own parse must return the same value. The
  // check parses the decoded text, as the handler will.
  const isLong = encoded.text.length > longText
  if (isLong) await between()
  const read = decodeText(encoded.text)
  if (isLong) await between()
  const parsed = await job.parse(read)
  if ('problem' in parsed) return refuse(parsed.problem)
  return encoded.text
}
