/** A door over a batch whose items end as their input says. */
import { z } from 'zod'
import { defineBatch, defineJob, doNotRetry, seconds } from '../../src/index.ts'
import { type Door, doorWith } from './support.ts'

/** An item with `fails` fails with that text; the others succeed. */
export const failing = defineJob({
  kind: 'letter',
  queue: 'post',
  input: z.object({ n: z.number(), fails: z.string().optional() }),
  maxAttempts: 1,
  run(_, { n, fails }) {
    if (fails !== undefined) throw doNotRetry(new Error(fails))
    return n
  },
})

const letters = defineBatch({ name: 'letters', job: failing, stallAfter: seconds(60), maxResumes: 1 })

export const batchDoor = (given: Parameters<typeof doorWith>[1] = {}): Promise<Door> =>
  doorWith([], { batches: [letters], ...given })

/** Its id. */
export async function submitted(ask: Door['ask'], items: unknown[], more: object = {}): Promise<string> {
  const { body } = await ask('POST', '/api/v1/batches', { body: { name: 'letters', items, ...more } })
  return body.id
}
