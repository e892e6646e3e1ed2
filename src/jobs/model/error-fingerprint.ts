/**
 * Computes the error fingerprint of a failure: a short text, equal for failures with the same cause and different names, numbers
 * and paths. Ten thousand failures thereby become three lines, and a person can retry the jobs of a single line.
 *
 * Invariant: pure, and the same in every release, because fingerprints are stored and queried later.
 */

/** In this order: a pattern that contains other patterns comes first. */
const particulars: readonly [RegExp, string][] = [
  [/\bhttps?:\/\/[^\s"'<>)\]]+/gi, '<url>'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>'],
  [/"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|“[^”\n]*”/g, '<text>'],
  [/(?<![\w<])(?:[a-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?/gi, '<path>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b/gi, '<id>'],
  [/[+-]?\d+(?:[.,:]\d+)*/g, '<n>'],
]

const longest = 500

/** Returns the message without the parts that differ from case to case. */
export function commonPart(message: string): string {
  let text = message.slice(0, longest * 4)
  for (const [pattern, word] of particulars) text = text.replace(pattern, word)
  return text.replace(/\s+/g, ' ').trim().slice(0, longest)
}

/** Twelve hexadecimal digits. */
export function fingerprintOf({ type, code, message }: { type: string; code: string | null; message: string }): string {
  return hash(`${type}\n${code ?? ''}\n${commonPart(message)}`)
}

/** Two FNV-1a hashes of 32 bits; only half of the second is used. */
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
