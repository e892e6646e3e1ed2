import { expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { defineJob } from '../../jobs/model/job.ts'
import { minutes, seconds } from '../../lib/values/duration.ts'
import { defineSchedule, refOf } from './schedule.ts'

const tidy = defineJob({ kind: 'tidy', run: () => 'done' })
const greet = defineJob({ kind: 'greet', run: (_, input: { name: string }) => input.name })

test('a schedule is a name, a job and a recurrence', () => {
  const schedule = defineSchedule({ name: 'tidy', job: tidy, cron: ' 0  4 * * * ', timeZone: 'America/Sao_Paulo' })
  expect(schedule).toMatchObject({
    name: 'tidy',
    recurrence: { cron: '0 4 * * *', timeZone: 'America/Sao_Paulo' },
    catchUp: 'once',
  })
  expect(defineSchedule({ name: 'tidy', job: tidy, cron: '@daily' }).recurrence).toEqual({
    cron: '@daily',
    timeZone: 'UTC',
  })
  expect(defineSchedule({ name: 'tidy', job: tidy, every: minutes(5) }).recurrence).toEqual({ every: minutes(5) })
})

test('the input is a value, or made from the occurrence', () => {
  const occurrence = new Date('2026-11-15T07:00:00Z')
  const value = defineSchedule({ name: 'a', job: greet, every: minutes(1), input: { name: 'Ana' } })
  expect(value.input(occurrence)).toEqual({ name: 'Ana' })
  const made = defineSchedule({ name: 'a', job: greet, every: minutes(1), input: at => ({ name: at.toISOString() }) })
  expect(made.input(occurrence)).toEqual({ name: '2026-11-15T07:00:00.000Z' })
})

test('its types come from the job', () => {
  const print = defineJob({ kind: 'print', run: (_, input: { code: string }) => input.code })
  // @ts-expect-error: the job needs an input
  defineSchedule({ name: 'a', job: print, every: minutes(1) })
  // @ts-expect-error: of that shape
  defineSchedule({ name: 'a', job: print, every: minutes(1), input: { kode: 'A-17' } })
  // @ts-expect-error: also when it is made
  defineSchedule({ name: 'a', job: print, every: minutes(1), input: () => ({ kode: 'A-17' }) })
})

test('a job shows which occurrence it is for, unless the options name it', () => {
  const occurrence = new Date('2026-11-15T07:00:00Z')
  const plain = defineSchedule({ name: 'tidy', job: tidy, every: minutes(1) })
  expect(refOf(plain, occurrence)).toBe('tidy@2026-11-15T07:00:00Z')
  const named = defineSchedule({ name: 'tidy', job: tidy, every: minutes(1), options: { ref: 'T-1' } })
  expect(refOf(named, occurrence)).toBe('T-1')
})

test('its key is held until the end of its job, not for a day: the next occurrence would find it taken', () => {
  const { options } = defineSchedule({
    name: 'tidy',
    job: tidy,
    every: minutes(1),
    options: { key: 'tidy', priority: 0 },
  })
  expect(options).toMatchObject({ key: 'tidy', keyHold: 'final', priority: 0 })
})

const good = { name: 'nightly', job: tidy, cron: '0 4 * * *' }
const { cron: _, ...without } = good

test.each([
  [{ ...good, cron: '61 * * * *' }, 'cron "61 * * * *" cannot be read: Invalid value for minute: 61'],
  [{ ...good, cron: '* * *' }, 'cron "* * *" cannot be read: it has five fields'],
  [{ ...good, cron: '0 0 31 2 *' }, 'cron "0 0 31 2 *" cannot be read: it names no instant at all'],
  [{ ...good, cron: '2030-01-01T00:00:00' }, 'cannot be read: it has five fields'],
  [{ ...good, cron: 4 }, 'cron must be a text such as "0 4 * * *"'],
  [
    { ...good, timeZone: 'America/Sao_Paolo' },
    'there is no time zone "America/Sao_Paolo", did you mean "America/Sao_Paulo"?',
  ],
  [{ ...good, timeZone: 'Mars' }, 'there is no time zone "Mars"'],
  [{ ...good, every: minutes(5) }, 'give either cron or every, not both'],
  [without, 'it needs cron or every'],
  [
    { ...without, every: seconds(0.5) },
    'every must be a duration from 1 second to 100 years, such as minutes(5), not 500',
  ],
  [{ ...without, every: Number.NaN }, 'every must be a duration'],
  [{ ...without, every: minutes(5), timeZone: 'UTC' }, 'timeZone goes with cron'],
  [{ ...good, name: '' }, 'name must be 1 to 100 letters'],
  [{ ...good, name: 'às quatro' }, 'name must be 1 to 100 letters'],
  [{ ...good, job: { kind: 'tidy' } }, 'job must be made by defineJob'],
  [{ ...good, catchUp: 'twice' }, 'catchUp must be one of skip, once, all, not "twice"'],
  [{ ...good, timezone: 'UTC' }, 'there is no option "timezone", did you mean "timeZone"?'],
  [{ ...good, options: { priority: 12 } }, 'options.priority: it is a whole number from 0 (first) to 9, not 12'],
  [{ ...good, options: { runAt: new Date(0) } }, 'options.runAt: the recurrence says when'],
  [
    { ...good, options: { key: 'a', keyUntil: 'day' } },
    'options.keyUntil: the key of a scheduled job is held until its end',
  ],
  [null, 'defineSchedule takes one object'],
])('refused, and why: %o', (given, problem) => {
  const define = () => defineSchedule(given as never)
  expect(define).toThrow(expect.objectContaining({ code: 'bad_definition' }))
  expect(define).toThrow(problem)
  expect(define).toThrow(expect.toSatisfy(error => englishIn(error).length === 0))
  if (given?.name) expect(define).toThrow(`"${given.name}"`)
})
