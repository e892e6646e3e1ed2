/**
 * Parses JSON as shops write it into pages: inside of HTML comments or CDATA, with line breaks inside of strings, with commas before a
 * closing bracket, with a semicolon at the end, with HTML entities. Each repair is one pass over the text.
 */

/** Returns the values of a text; a text may have several values, one after the other. An unreadable text has no values. */
export function parseLenient(text: string): unknown[] {
  const inner = text
    .replace(/^\uFEFF/, '')
    .replace(/^\s*(?:\/\/\s*|\/\*\s*)?(?:<!--|<!\[CDATA\[)(?:\s*\*\/)?/, '')
    .replace(/(?:\/\/\s*|\/\*\s*)?(?:-->|\]\]>)(?:\s*\*\/)?\s*$/, '')
    .trim()
  if (inner === '') return []
  for (const attempt of [() => inner, () => repaired(inner), () => repaired(withoutEntities(inner))]) {
    const values = parsed(attempt())
    if (values !== undefined) return values
  }
  return []
}

function parsed(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text)]
  } catch {
    return undefined
  }
}

const withoutEntities = (text: string): string =>
  text
    .replace(/&quot;|&#0*34;|&#x0*22;/gi, '"')
    .replace(/&(?:apos|#0*39);/gi, "'")
    .replace(/&lt;/gi, '<')
    .replace(/&gt;/gi, '>')
    .replace(/&amp;/gi, '&')

/** Escapes control characters inside of strings, removes commas before a closing bracket, and joins values one after the other. */
function repaired(text: string): string {
  const out: string[] = []
  let isInString = false
  let depth = 0
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const each = text[at]!
    if (isInString) {
      if (each === '\\') out.push(each, text[++at] ?? '')
      else if (each < ' ') out.push(each === '\t' ? '\\t' : '\\n')
      else out.push(each)
      if (each === '"') isInString = false
      continue
    }
    if (each === '"') isInString = true
    if (depth === 0 && (each === '{' || each === '[') && values++ > 0) out.push(',')
    if (each === '{' || each === '[') depth++
    if (each === '}' || each === ']') {
      depth--
      dropComma(out)
    }
    if (depth === 0 && (each === ';' || each === ',')) continue
    out.push(each)
  }
  return values > 1 ? `[${out.join('')}]` : out.join('')
}

function dropComma(out: string[]): void {
  let at = out.length - 1
  while (at >= 0 && /^\s$/.test(out[at]!)) at--
  if (out[at] === ',') out.splice(at, 1)
}
