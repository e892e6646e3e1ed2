/** Schema parts that many routes share. Schemas of a single resource are beside the routes of the resource. */
import { z } from 'zod'

/** Any text is allowed: an id that names nothing is 404, not 400. */
export const idParams = z.object({ id: z.string() })

export const cost = z.array(
  z.object({
    currency: z.string().meta({ description: 'ISO 4217, such as USD' }),
    amount: z.string().meta({ description: 'an exact decimal number' }),
  }),
)

export const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })

/** An instant in a request: in any zone, if the zone is given. */
export const anyInstant = z.iso
  .datetime({ offset: true })
  .max(50)
  .meta({ description: 'ISO 8601, with Z or an offset' })

/** Query of a list: page size and start. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().nullable() })

export const problem = z
  .object({ error: z.looseObject({ code: z.string(), message: z.string() }) })
  .meta({ id: 'Error' })
