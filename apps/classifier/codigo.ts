/**
 * `codigo`, by which a document is known in its execution: its file's name, or what the caller says.
 *
 * Invariant: unique in its execution, at most 100 characters, one line, never half a surrogate pair; the first with a name
 * keeps it, and the same list gives the same codes.
 */
import { oneLine } from './text.ts'

const longest = 100
const nameless = 'documento'

/** Of a path, as some browsers send it, the last part. */
export const codeOfFile = (name: string): string => oneLine(name.replaceAll('\\', '/').split('/').at(-1) ?? '')

/** Hands out codes for one execution, in the order of its list. */
export function createCodes(): (wanted: string) => string {
  const taken = new Set<string>()
  const next = new Map<string, number>()
  return wanted => {
    const base = cut(oneLine(wanted), longest) || nameless
    let code = base
    for (let n = next.get(base) ?? 2; taken.has(code); n++) {
      const suffix = ` (${n})`
      code = cut(base, longest - suffix.length) + suffix
      next.set(base, n + 1)
    }
    taken.add(code)
    return code
  }
}

/** In UTF-16 units, which are at least as many as characters. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? most - 1 : most).trimEnd()
}
