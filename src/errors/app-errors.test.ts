import { expect, test } from 'vitest'
import { defineErrors, refuseSameCode } from './app-errors.ts'
import { type Entry, isRetomaError, RetomaError } from './errors.ts'

const sentences = { en: 'seat {seat} is sold', pt: 'o assento {seat} já foi vendido' } as const
const errors = defineErrors({ sold_out: { status: 409, retryable: true, ...sentences } })

test('an error of an application tells itself as one of Retoma does', () => {
  const error = new RetomaError(errors.sold_out, { seat: '4F' })
  expect(error).toMatchObject({
    message: 'sold_out: seat 4F is sold',
    code: 'sold_out',
    status: 409,
    retryable: true,
    own: errors.sold_out,
  })
  expect(error.in('pt')).toBe('o assento 4F já foi vendido')
  expect([isRetomaError(error), isRetomaError(error, errors.sold_out), isRetomaError(error, 'not_found')]).toEqual([
    true,
    true,
    false,
  ])
})

test('a fact that is forgotten, or a code that nobody defined, does not compile', () => {
  // @ts-expect-error: which seat?
  new RetomaError(errors.sold_out, {})
  // @ts-expect-error: there is no such error, of the application or of Retoma
  expect(() => new RetomaError(errors.sold_oud, { seat: '4F' })).toThrow()
  // @ts-expect-error
  expect(() => new RetomaError('sold_out', { seat: '4F' })).toThrow()
})

test.each<[string, Record<string, unknown>, string]>([
  ['not_found', { status: 404, ...sentences }, "that code is Retoma's own; choose another"],
  ['Sold-Out', { status: 409, ...sentences }, 'its code must be 1 to 60 small letters'],
  ['sold_out', { status: 200, ...sentences }, 'its status must be from 400 to 599'],
  ['sold_out', { status: 409, en: 'sold' }, 'it needs a sentence in English (en) and in Portuguese (pt)'],
  ['sold_out', { status: 409, ...sentences, pt: 'vendido' }, 'both sentences must name the same facts in braces'],
  [
    'sold_out',
    { status: 409, ...sentences, retriable: true },
    'there is no option "retriable", did you mean "retryable"?',
  ],
])('an error that cannot be one is refused where it is defined: %s', (code, entry, problem) => {
  expect(() => defineErrors({ [code]: entry as unknown as Entry })).toThrow(
    `bad_definition: the definition of error "${code}" is not usable: ${problem}`,
  )
})

test('two tables may share one definition, and may not define one code twice', () => {
  const others = defineErrors({ sold_out: { status: 410, ...sentences } })
  expect(() => refuseSameCode([errors.sold_out, errors.sold_out])).not.toThrow()
  expect(() => refuseSameCode([errors.sold_out, others.sold_out])).toThrow(
    'bad_definition: the definition of error "sold_out" is not usable: two tables define it',
  )
})
