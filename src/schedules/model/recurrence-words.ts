/** Describes a recurrence in words, in both languages. A cron pattern without a simple description is quoted. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import type { Recurrence } from './recurrence.ts'

const weekdays = {
  en: ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'],
  pt: ['domingo', 'segunda', 'terça', 'quarta', 'quinta', 'sexta', 'sábado'],
} as const

export function recurrenceWords(recurrence: Recurrence): LocalizedText {
  if ('every' in recurrence) {
    const span = spanText(recurrence.every / 1000)
    return localized(`every ${span}`, `a cada ${span}`)
  }
  const { cron, timeZone } = recurrence
  const words = cronWords(cron) ?? localized(`by the cron pattern "${cron}"`, `pelo padrão cron "${cron}"`)
  return localized(`${words.en} (${timeZone})`, `${words.pt} (${timeZone})`)
}

const number = /^\d{1,2}$/
const every = /^\*\/(\d{1,2})$/

function cronWords(cron: string): LocalizedText | undefined {
  const [minute, hour, day, month, weekday, ...more] = cron.trim().split(/\s+/)
  if (weekday === undefined || more.length > 0 || month !== '*') return undefined
  const isEveryDay = day === '*' && weekday === '*'
  if (isEveryDay && hour === '*') return withinHour(minute!)
  const step = every.exec(hour!)?.[1]
  if (isEveryDay && step !== undefined && number.test(minute!))
    return localized(`every ${step} hours, at minute ${minute}`, `a cada ${step} horas, no minuto ${minute}`)
  if (!number.test(minute!) || !number.test(hour!)) return undefined
  const time = `${hour!.padStart(2, '0')}:${minute!.padStart(2, '0')}`
  if (isEveryDay) return localized(`every day at ${time}`, `todo dia às ${time}`)
  if (weekday === '*' && number.test(day!))
    return localized(`on day ${day} of every month at ${time}`, `no dia ${day} de cada mês às ${time}`)
  const days = day === '*' ? weekdayNumbers(weekday) : undefined
  if (days === undefined) return undefined
  const isRun = days.length > 2 && days.every((each, index) => index === 0 || each === days[index - 1]! + 1)
  const named = (language: 'en' | 'pt') => {
    const names = days.map(each => weekdays[language][each]!)
    return isRun ? `${names[0]} ${language === 'en' ? 'to' : 'a'} ${names.at(-1)}` : names.join(', ')
  }
  return localized(`${named('en')} at ${time}`, `${named('pt')} às ${time}`)
}

function withinHour(minute: string): LocalizedText | undefined {
  if (minute === '*') return localized('every minute', 'a cada minuto')
  const step = every.exec(minute)?.[1]
  if (step !== undefined) return localized(`every ${step} minutes`, `a cada ${step} minutos`)
  return number.test(minute)
    ? localized(`every hour, at minute ${minute}`, `a cada hora, no minuto ${minute}`)
    : undefined
}

/** `1-5`, `0,6`, `3`; 7 is Sunday. Undefined: another form. */
function weekdayNumbers(text: string): number[] | undefined {
  const days = new Set<number>()
  for (const part of text.split(',')) {
    const match = /^([0-7])(?:-([0-7]))?$/.exec(part)
    if (match === null) return undefined
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])]
    for (let day = first; day <= last; day++) days.add(day % 7)
  }
  return days.size === 0 ? undefined : [...days].sort((a, b) => a - b)
}
