/** Formats parts of sentences for people: durations, instants, numbers, and words of others. */
import { type LocalizedText, localized } from 'retoma'

/** `45 s`, `3 min 20 s`, `2 h 5 min`: the same in both languages. */
export function span(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  if (hours > 0) return `${hours} h${minutes > 0 ? ` ${minutes} min` : ''}`
  if (minutes > 0) return `${minutes} min${rest > 0 ? ` ${rest} s` : ''}`
  return `${rest} s`
}

/** `1 documento`, `2 documentos`: for words with a plural in s in both languages. */
export const count = (many: number, word: string): string => `${number(many)} ${plural(many, word)}`

export const plural = (many: number, words: string): string =>
  many === 1 ? words : words.replaceAll(/\p{L}+/gu, word => `${word}s`)

/** In Portuguese format, also in the English sentences. */
export const number = (value: number): string => value.toLocaleString('pt-BR')

const timeZone = 'America/Sao_Paulo'
const day = new Intl.DateTimeFormat('pt-BR', { timeZone, day: '2-digit', month: '2-digit' })
const time = new Intl.DateTimeFormat('pt-BR', { timeZone, hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** `14:32:05 (horário de Brasília)`; on another day `17/11 14:32:05 (horário de Brasília)`. */
export function clock(at: Date, now: Date): LocalizedText {
  const shown = day.format(at) === day.format(now) ? time.format(at) : `${day.format(at)} ${time.format(at)}`
  return localized(`${shown} (Brasília time)`, `${shown} (horário de Brasília)`)
}

/** A text of others, shortened to a single line. */
export const short = (text: string, longest = 200): string => {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}
