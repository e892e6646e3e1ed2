/** Parses a header with parameters: `form-data; name="file"; filename*=UTF-8''a.pdf`. */

export interface HeaderParams {
  /** In lower case. */
  type: string
  params: ReadonlyMap<string, string>
}

const head = /^\s*([!#$%&'*+.^_`|~\w/-]+)\s*/
const param = /;\s*(?:([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))\s*)?/y

/** Returns undefined if the header is malformed or names a parameter twice. */
export function headerParams(text: string): HeaderParams | undefined {
  const type = head.exec(text)
  if (type === null) return undefined
  const params = new Map<string, string>()
  param.lastIndex = type[0].length
  while (param.lastIndex < text.length) {
    const found = param.exec(text)
    if (found === null) return undefined
    const [, name, quoted, plain = ''] = found
    if (name === undefined) continue // a semicolon alone
    const known = name.toLowerCase()
    if (params.has(known)) return undefined
    params.set(known, quoted === undefined ? plain : unquoted(quoted))
  }
  return withExtended(type[1]!.toLowerCase(), params)
}

// Some browsers send a path as C:\docs\a.pdf: only a quote and a backslash are unescaped.
const unquoted = (text: string) => text.replace(/\\(["\\])/g, '$1')

/** `name*` in the form of RFC 8187 overrides `name`. */
function withExtended(type: string, given: Map<string, string>): HeaderParams | undefined {
  const params = new Map(given)
  for (const [name, value] of given) {
    if (!name.endsWith('*')) continue
    const decoded = extended(value)
    if (decoded === undefined) return undefined
    params.set(name.slice(0, -1), decoded)
  }
  return { type, params }
}

function extended(value: string): string | undefined {
  const [charset, , coded] = value.split("'", 3)
  if (coded === undefined) return undefined
  const bytes = Buffer.from(
    coded.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  return textOf(bytes, charset!)
}

/** Returns undefined if the character set is unknown. */
export function textOf(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return undefined
  }
}
