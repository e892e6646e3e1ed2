/** Formats instants for a person: this machine's local time, and the distance from now. */
import type { Language } from '../../errors/errors.ts'

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

const locale = { en: 'en', pt: 'pt-BR' }

/** `3 min. ago`, `in 2 days` */
export function relative(at: Date, now: Date, language: Language): string {
  const seconds = Math.trunc((at.getTime() - now.getTime()) / 1000)
  const [unit, size] = units.find(each => Math.abs(seconds) >= each[1]) ?? units[3]
  const format = new Intl.RelativeTimeFormat(locale[language], {
    style: 'short',
    numeric: unit === 'second' ? 'auto' : 'always',
  })
  return format.format(Math.trunc(seconds / size), unit)
}

/** For past events: if the database's clock is ahead of this machine's, the event was now. */
export const ago = (at: Date, now: Date, language: Language): string =>
  relative(new Date(Math.min(at.getTime(), now.getTime())), now, language)

/** `2030-01-31 08:00:00 (in 2 days)` */
export const when = (at: Date, now: Date, language: Language): string => `${local(at)} (${relative(at, now, language)})`

/** `2030-01-31 08:00:00` */
export function local(at: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}
