/** Shared parts of the routes: ids, pages, and the error for a row that the caller does not have. */
import { localized, RetomaError } from 'retoma'
import { z } from 'zod'
import { isId, lastId } from '../document-id.ts'

export const tag = 'documentos'

export const idParams = z.object({ id: z.string() })

/** A parameter of a query without a value, such as `?status=`, is as an absent parameter. */
export const emptyIsAbsent = <T extends z.ZodType>(value: T) =>
  z.preprocess(given => (given === '' ? undefined : given), value.optional())

export const pageQuery = {
  limit: emptyIsAbsent(z.coerce.number().int().min(1).max(500)).default(50),
  after: emptyIsAbsent(z.string().max(200)).meta({ description: 'the `next` of the page before' }),
}

export const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().nullable() })

/** The start of a page. */
export function placeOf(after: string | undefined): string {
  if (after === undefined) return lastId
  if (isId(after)) return after
  throw new RetomaError('bad_request', {
    field: 'after',
    problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })
}

/** Splits `limit` + 1 rows into the page and the start of the next page. */
export function pageFrom<T extends { id: string }>(found: readonly T[], limit: number) {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)!.id : null }
}

export const noDocument = (id: string) => new RetomaError('not_found', { what: localized('document', 'documento'), id })
