/** Dates, numbers, durations and money in the language of the dashboard and in the time zone of the browser. */
import { useMemo } from 'react'
import { type Language, useLanguage } from './language.ts'

export interface Format {
  readonly language: Language
  /** A dash for null: a number that only an admin sees. */
  number(value: number | null, options?: Intl.NumberFormatOptions): string
  /** 12,3 mil for 12 345: for axes and narrow places. */
  compact(value: number): string
  /** `value`: 0 to 100. */
  percent(value: number, digits?: number): string
  money(value: number | string, currency: string): string
  bytes(value: number): string
  date(instant: Instant): string
  /** Hours, minutes and seconds. */
  time(instant: Instant): string
  dateTime(instant: Instant): string
  /** With the time zone: for the text on hover. */
  dateTimeZone(instant: Instant): string
  /** Day of the week, date, hours and minutes: for times to come. */
  weekdayTime(instant: Instant): string
  /** 1 h 12 min, 45 s, 320 ms: at most two units. */
  duration(milliseconds: number): string
  /** há 5 min, em 2 h. */
  relative(instant: Instant, now: number): string
}

export type Instant = string | number | Date

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

const words = { day: 'd', hour: 'h', minute: 'min', second: 's' } as const

const unitOf = (_: string, unit: string) => (unit === 'hr' ? 'h' : unit)

function createFormat(language: Language): Format {
  const number = new Intl.NumberFormat(language)
  const compact = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 })
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'medium' })
  const time = new Intl.DateTimeFormat(language, { timeStyle: 'medium' })
  const dateTime = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' })
  const dateTimeZone = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long' })
  const weekdayTime = new Intl.DateTimeFormat(language, {
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
  const isValid = (instant: Instant) => Number.isFinite(new Date(instant).getTime())
  const show = (format: Intl.DateTimeFormat, instant: Instant) =>
    isValid(instant) ? format.format(new Date(instant)) : '–'
  return {
    language,
    number: (value, options) =>
      value === null ? '–' : (options === undefined ? number : new Intl.NumberFormat(language, options)).format(value),
    compact: value => compact.format(value),
    percent: (value, digits = 0) =>
      new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: digits }).format(value / 100),
    money: (value, currency) => new Intl.NumberFormat(language, { style: 'currency', currency }).format(Number(value)),
    bytes: value => bytesText(value, language),
    date: instant => show(date, instant),
    time: instant => show(time, instant),
    dateTime: instant => show(dateTime, instant),
    dateTimeZone: instant => show(dateTimeZone, instant),
    weekdayTime: instant => show(weekdayTime, instant),
    duration: ms => durationText(ms, number),
    relative(instant, now) {
      if (!isValid(instant)) return '–'
      const distance = new Date(instant).getTime() - now
      const [unit, size] = units.find(([, size]) => Math.abs(distance) >= size) ?? units[3]
      // Without the full stop of an abbreviation and with the unit of durations: "há 37 s", not "há 37 seg.".
      return relative
        .format(Math.trunc(distance / size), unit)
        .replace(/\bse[gc]\./, 's')
        .replace(/\b(min|hr)\./, unitOf)
    },
  }
}

function durationText(ms: number, number: Intl.NumberFormat): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1000) return `${number.format(Math.max(0, Math.round(ms)))} ms`
  if (ms < 10_000) return `${number.format(Math.round(ms / 100) / 10)} s`
  const first = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[first]!
  const [lower, lowerSize] = units[first + 1] ?? []
  const whole = Math.floor(ms / size)
  const rest = lowerSize === undefined ? 0 : Math.floor((ms - whole * size) / lowerSize)
  return `${number.format(whole)} ${words[unit]}${rest > 0 && lower !== undefined ? ` ${rest} ${words[lower]}` : ''}`
}

function bytesText(value: number, language: Language): string {
  const names = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const
  const power = Math.min(names.length - 1, Math.max(0, Math.floor(Math.log(Math.max(value, 1)) / Math.log(1000))))
  const options = { style: 'unit', unit: names[power]!, unitDisplay: 'short', maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(language, options).format(value / 1000 ** power)
}

export const useFormat = (): Format => {
  const language = useLanguage()
  return useMemo(() => createFormat(language), [language])
}
