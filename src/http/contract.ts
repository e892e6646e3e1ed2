/** Pieces that the schemas of many routes share. What is of one resource alone lies beside its routes. */
import { z } from 'zod'

/** Whatever its form: one that names nothing is 404, not 400. */
export const idParams = z.object({ id: z.string() })

export const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })

/** As it may be given: in any zone, so long as it is said. */
export const anyInstant = z.iso
  .datetime({ offset: true })
  .max(50)
  .meta({ description: 'ISO 8601, with Z or an offset' })

/** Of a list: how many, and from where on. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().nullable() })

export const problem = z
  .object({ error: z.looseObject({ code: z.string(), message: z.string() }) })
  .meta({ id: 'Error' })
