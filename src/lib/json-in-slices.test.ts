import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonScan } from '../http/request/json-size-scan.ts'
import { parseJsonInSlices } from './json-in-slices.ts'

type Outcome = { value: unknown } | { error: string }

function whole(text: string): Outcome {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { error: 'refused' }
  }
}

async function sliced(text: string, length: number): Promise<Outcome> {
  try {
    return { value: await parseJsonInSlices(text, { length, between: async () => {} }) }
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return { error: 'refused' }
  }
}

const names = fc.constantFrom('a', 'b', '__proto__', '1', '"', '\\', ',]}')
const value = fc.letrec(tie => ({
  any: fc.oneof({ maxDepth: 5 }, fc.constantFrom(0, null, true, 'a,"]}\\'), tie('list'), tie('object')),
  list: fc.array(tie('any'), { maxLength: 5 }),
  object: fc.array(fc.tuple(names, tie('any')), { maxLength: 5 }).map(pairs => Object.fromEntries(pairs)),
})).any

/** JSON with white space, and with a character inserted or left out at a random place. */
const text = fc
  .tuple(value, fc.nat(2), fc.nat(), fc.constantFrom('', ...',[]{}:" 1\\'), fc.boolean())
  .map(([any, space, at, odd, isLeftOut]) => {
    const json = JSON.stringify(any, null, space)
    const place = at % (json.length + 1)
    return json.slice(0, place) + odd + json.slice(isLeftOut ? place + 1 : place)
  })

test('JSON that is parsed in slices gives the value that JSON.parse gives, or is refused as JSON.parse refuses it', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 12 }), async (json, length) => {
      expect(await sliced(json, length)).toEqual(whole(json))
    }),
    { numRuns: 2000 },
  )
})

test('a long list is parsed in as many slices as its length asks for', async () => {
  let slices = 0
  const between = async () => void slices++
  const list = Array.from({ length: 1000 }, (_, n) => ({ n }))
  expect(await parseJsonInSlices(JSON.stringify({ list }), { length: 1000, between })).toEqual({ list })
  expect(slices).toBeGreaterThan(8)
})

test('the values of a body are counted the same, however its bytes are split into parts', () => {
  fc.assert(
    fc.property(value, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (any, lengths) => {
      const bytes = Buffer.from(JSON.stringify(any))
      const excessOf = (parts: readonly Uint8Array[], most: number) => {
        const scan = new JsonScan(64, most)
        return parts.map(part => scan.add(part)).find(each => each !== undefined)
      }
      const parts: Uint8Array[] = []
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const length = lengths[n % lengths.length]!
        parts.push(bytes.subarray(at, at + length))
        at += length
      }
      let values = 0
      while (excessOf([bytes], values) !== undefined) values++
      expect(excessOf(parts, values)).toBeUndefined()
      if (values > 0) expect(excessOf(parts, values - 1)).toBe('too_many')
      expect(values).toBe(countOf(any))
    }),
    { numRuns: 500 },
  )
})

/** The number of commas and opening brackets outside strings. */
function countOf(any: unknown): number {
  if (typeof any !== 'object' || any === null) return 0
  const inner = Array.isArray(any) ? any : Object.values(any)
  return 1 + Math.max(inner.length - 1, 0) + inner.reduce((sum: number, each) => sum + countOf(each), 0)
}
