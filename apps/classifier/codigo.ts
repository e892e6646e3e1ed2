/**
 * Makes `codigo`, the name of a document in an execution: the file name, the path inside a ZIP or a folder, or the caller's own code.
 *
 * Invariant: unique in the execution, at most 100 characters, a single line, never half a surrogate pair. The first document with a name
 * keeps the name, and the same list gives the same codes.
 */
import { oneLine } from './text.ts'

const longest = 100
const nameless = 'documento'

/** The last part of a path. */
const nameOf = (path: string): string => path.replaceAll('\\', '/').split('/').at(-1) ?? ''

/**
 * The path of a file inside a ZIP or a sent folder, with its end if the path is too long. Only the name of an absolute path, or of a path
 * that leaves its folder.
 */
export function codeOfFile(path: string): string {
  const parts = path.replaceAll('\\', '/').split('/')
  const isOutside = parts[0] === '' || /^[a-z]:$/i.test(parts[0]!) || parts.includes('..')
  if (isOutside || path.includes('\\')) return oneLine(nameOf(path))
  const code = oneLine(parts.filter(part => part !== '.' && part !== '').join('/'))
  return code.length <= longest || parts.length === 1 ? code : `…${code.slice(1 - longest).toWellFormed()}`
}

/** Makes codes for an execution, in the order of the list. */
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

/** Counts in UTF-16 units, which are at least as many as characters. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? most - 1 : most).trimEnd()
}
