/** Why something does not move, as it is answered of a job, a batch or a queue. */
import { z } from 'zod'

export const explanation = z
  .object({
    verdict: z.string().meta({ description: 'ok, waiting, paused, starved, orphan, hung, stalled, poison …' }),
    sentence: z.string(),
    facts: z.record(z.string(), z.unknown()),
    advice: z.object({ action: z.string(), text: z.string(), command: z.string().nullable() }),
  })
  .meta({ id: 'Explanation' })
