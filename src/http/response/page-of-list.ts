/** Pages a list that is short enough to be read as a whole: `next` names the last item of the page. */
import { localized, RetomaError } from '../../errors/errors.ts'

export function paged<T>(
  all: readonly T[],
  nameOf: (item: T) => string,
  { limit, after }: { limit: number; after?: string | undefined },
): { items: T[]; next: string | null } {
  const from = after === undefined ? 0 : all.findIndex(each => nameOf(each) === after) + 1
  if (after !== undefined && from === 0)
    throw new RetomaError('bad_request', {
      field: 'after',
      problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
    })
  const items = all.slice(from, from + limit)
  return { items, next: from + limit < all.length ? nameOf(items.at(-1)!) : null }
}
