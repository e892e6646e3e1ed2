/** Pieces of sentences for people: how long, when, and what somebody else said. */

/** `45 s`, `3 min 20 s`, `2 h 5 min`: the same in both languages. */
export function span(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  if (hours > 0) return `${hours} h${minutes > 0 ? ` ${minutes} min` : ''}`
  if (minutes > 0) return `${minutes} min${rest > 0 ? ` ${rest} s` : ''}`
  return `${rest} s`
}

/** `1 documento`, `2 documentos`: of words that both languages give an s. */
export const count = (many: number, word: string): string => `${many} ${word}${many === 1 ? '' : 's'}`

export const clock = (at: Date): string => `${at.toISOString().slice(11, 19)} UTC`

/** Of somebody else's words so much, on one line. */
export const short = (text: string, longest = 200): string => {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}
