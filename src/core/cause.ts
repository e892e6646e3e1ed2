/**
 * The cause of a failure: a short name that failures have in common when they are the same trouble with other names,
 * numbers and places in it. So ten thousand failures are three lines, and one of the three can be run again by itself.
 *
 * Invariant: pure, and the same in every release: a cause is stored, and asked for later.
 */

/** Order matters: what contains others comes first. */
const particulars: readonly [RegExp, string][] = [
  [/\bhttps?:\/\/[^\s"'<>)\]]+/gi, '<url>'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>'],
  [/"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|“[^”\n]*”/g, '<text>'],
  [/(?<![\w<])(?:[a-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?/gi, '<path>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b/gi, '<id>'],
  [/[+-]?\d+(?:[.,:]\d+)*/g, '<n>'],
]

const longest = 500

/** The message without what differs from case to case. */
export function commonPart(message: string): string {
  let text = message.slice(0, longest * 4)
  for (const [pattern, word] of particulars) text = text.replace(pattern, word)
  return text.replace(/\s+/g, ' ').trim().slice(0, longest)
}

/** Twelve hexadecimal digits. */
export function causeOf({ what, code, message }: { what: string; code: string | null; message: string }): string {
  return hash(`${what}\n${code ?? ''}\n${commonPart(message)}`)
}

/** Two FNV-1a of 32 bits; of the second, half is shown. */
function hash(text: string): string {
  let one = 0x811c9dc5
  let two = 0x050c5d1f
  for (const byte of Buffer.from(text)) {
    one = Math.imul(one ^ byte, 0x01000193)
    two = Math.imul(two ^ byte, 0x01000193)
  }
  const hex = (value: number) => (value >>> 0).toString(16).padStart(8, '0')
  return hex(one) + hex(two).slice(0, 4)
}
