/** Random answers of all services. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeAnalysis } from './anthropic.ts'
import { judgeVehicle, readEntries, readVehicle } from './fipe.ts'
import { judgeSearch } from './serpapi.ts'

const key = 'sk-test-0123456789abcdef'

test('whatever the bytes, an answer has one of five meanings, and no meaning repeats the key', () => {
  const status = fc.oneof(fc.constantFrom(200, 400, 401, 402, 429, 500, 529), fc.integer({ min: 100, max: 599 }))
  const words = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(`x ${key} api_key=${key}&y`))
  const value = fc.anything({ withNullPrototype: true, values: [words, fc.integer(), fc.constant(null), fc.double()] })
  const body = fc.oneof(
    words,
    fc
      .record(
        { error: value, type: words, content: value, usage: value, search_metadata: value, code: value },
        { requiredKeys: [] },
      )
      .map(each => safely(each)),
    value.map(each => safely(each)),
  )
  fc.assert(
    fc.property(status, body, fc.option(words), (code, text, header) => {
      const received = { status: code, header: () => header, body: text }
      for (const verdict of [
        judgeAnalysis(received, { description: 'x' }, key),
        judgeVehicle(received, readEntries, key),
        judgeVehicle(received, readVehicle, key),
      ]) {
        expect(['ok', 'retry', 'wait', 'stop', 'item']).toContain(verdict.is)
        expect(inspect(verdict, { depth: 9 })).not.toContain(key)
      }
      const search = judgeSearch(received, key)
      // A usable body is cleaned when it is saved.
      if (search.is !== 'ok') expect(inspect(search, { depth: 9 })).not.toContain(key)
    }),
    { numRuns: 500 },
  )
})

/** Some random values, such as a bigint, have no JSON. */
function safely(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}
