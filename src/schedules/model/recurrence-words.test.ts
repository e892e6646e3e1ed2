import { expect, test } from 'vitest'
import { minutes } from '../../lib/values/duration.ts'
import { recurrenceWords } from './recurrence-words.ts'

test.each([
  ['* * * * *', 'every minute', 'a cada minuto'],
  ['*/5 * * * *', 'every 5 minutes', 'a cada 5 minutos'],
  ['7 * * * *', 'every hour, at minute 7', 'a cada hora, no minuto 7'],
  ['0 */6 * * *', 'every 6 hours, at minute 0', 'a cada 6 horas, no minuto 0'],
  ['0 4 * * *', 'every day at 04:00', 'todo dia às 04:00'],
  ['30 9 * * 1-5', 'Monday to Friday at 09:30', 'segunda a sexta às 09:30'],
  ['30 9 * * 1,2,4', 'Monday, Tuesday, Thursday at 09:30', 'segunda, terça, quinta às 09:30'],
  ['0 0 * * 7', 'Sunday at 00:00', 'domingo às 00:00'],
  ['15 3 1 * *', 'on day 1 of every month at 03:15', 'no dia 1 de cada mês às 03:15'],
  ['0 9-17/2 * * 1', 'by the cron pattern "0 9-17/2 * * 1"', 'pelo padrão cron "0 9-17/2 * * 1"'],
  ['0 0 1 1 *', 'by the cron pattern "0 0 1 1 *"', 'pelo padrão cron "0 0 1 1 *"'],
])('%s is said in words, or quoted', (cron, en, pt) => {
  expect(recurrenceWords({ cron, timeZone: 'America/Sao_Paulo' })).toMatchObject({
    en: `${en} (America/Sao_Paulo)`,
    pt: `${pt} (America/Sao_Paulo)`,
  })
})

test('an interval is said in words', () => {
  expect(recurrenceWords({ every: minutes(90) })).toMatchObject({ en: 'every 1 h 30 min', pt: 'a cada 1 h 30 min' })
})
