/**
 * Finds sort keys that name an output column instead of the table's column. PostgreSQL looks up a bare name in `order by` and
 * `distinct on` among the output columns first, so `select id::text as id … order by id` sorts '10' before '9'. An output column
 * gets its name from `as`, or from the column under a cast: `select id::text` has an output column `id` too.
 */

/** A sort key, and the output column that shadows the column of the same name. */
export interface Shadowed {
  key: string
  output: string
}

export function shadowedSortKeys(sql: string): Shadowed[] {
  const plain = sql.replace(/--[^\n]*/g, ' ').replace(/'(?:[^']|'')*'/g, "''")
  return queriesIn(plain).flatMap(query => {
    const outputs = [
      ...query.matchAll(
        /\bselect\b(?:\s+(?:all|distinct)\b(?!\s+on\b))?([\s\S]*?)(?=\bfrom\b|\bunion\b|\border by\b|\bwhere\b|$)/g,
      ),
    ]
      .flatMap(([, list]) => split(list!.replace(/^\s*distinct on\s*⟦[^⟧]*⟧/, '')))
      .flatMap(outputOf)
    return keysOf(query).flatMap(key =>
      outputs
        .filter(({ name, expression }) => name === key && isMadeOf(expression, key))
        .map(({ expression }) => ({ key, output: expression })),
    )
  })
}

/**
 * The text of each query, without the queries and calls in parentheses inside: those stand as ⟦their text⟧, flattened, so that
 * an expression can still be read. The queries inside follow as elements of their own.
 */
function queriesIn(sql: string): string[] {
  const found: string[] = []
  const read = (from: number): { text: string; end: number } => {
    let text = ''
    for (let at = from; at < sql.length; at++) {
      const char = sql[at]!
      if (char === ')') return { text, end: at }
      if (char !== '(') {
        text += char
        continue
      }
      const inner = read(at + 1)
      found.push(inner.text)
      text += `⟦${/\bselect\b/.test(inner.text) ? '' : inner.text.replace(/[⟦⟧]/g, ' ')}⟧`
      at = inner.end
    }
    return { text, end: sql.length }
  }
  found.push(read(0).text)
  return found.map(each => each.replace(/\s+/g, ' ')).filter(each => /\bselect\b/.test(each))
}

/** Parts of a list; commas in ⟦…⟧ belong to a part. */
const split = (list: string): string[] => list.split(/,(?![^⟦]*⟧)/).map(each => each.trim())

function outputOf(item: string): { name: string; expression: string }[] {
  const named = /^([\s\S]+?)\s+as\s+"?(\w+)"?$/.exec(item)
  if (named !== null) return [{ name: named[2]!, expression: named[1]! }]
  const cast = /^(?:\w+\.)?"?(\w+)"?::[\w ]+(?:\[\])?$/.exec(item)
  return cast === null ? [] : [{ name: cast[1]!, expression: item }]
}

/** Of another value than the column itself. */
const isMadeOf = (expression: string, key: string): boolean =>
  new RegExp(`\\b${key}\\b`).test(expression) && !new RegExp(`^(?:\\w+\\.)?"?${key}"?$`).test(expression)

/** The bare names in `order by` and `distinct on`. */
function keysOf(query: string): string[] {
  const orders = [
    ...query.matchAll(
      /\border by ([\s\S]*?)(?=\blimit\b|\boffset\b|\bfor (?:no key )?(?:update|share|key)\b|\bunion\b|\breturning\b|$)/g,
    ),
  ]
  const distincts = [...query.matchAll(/\bdistinct on ⟦([^⟧]*)⟧/g)]
  return [...orders, ...distincts]
    .flatMap(([, list]) => split(list!))
    .map(each => each.replace(/\s+(?:asc|desc)\b.*$|\s+nulls (?:first|last)$/, '').trim())
    .flatMap(each => /^"?(\w+)"?$/.exec(each)?.[1] ?? [])
    .filter(each => !/^\d+$/.test(each))
}
