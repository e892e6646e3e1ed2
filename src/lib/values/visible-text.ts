/**
 * Escapes characters that steer a terminal, break a line or reverse text, as `\x1b` or `\u202e`: a name, an input or a message from
 * outside then sets no colour, forges no line and hides nothing.
 */

/** Line breaks and tabs stay. */
const steering = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu
const breaking = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/gu

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const escaped = (letter: string): string => {
  const hex = letter.charCodeAt(0).toString(16)
  return hex.length <= 2 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`
}

/** Text of several lines. */
export const visibleText = (text: string): string => text.replace(steering, escaped)

/** Text for a single line: a cell of a table, a message of a log. */
export const visibleLine = (text: string): string => text.replace(breaking, letter => named[letter] ?? escaped(letter))
