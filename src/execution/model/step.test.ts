import { expect, test } from 'vitest'
import { englishIn } from '../../../test/support/portuguese.ts'
import { checkStepName, checkStepOptions } from './step.ts'

test.each([
  [() => checkStepName(''), 'the option name is not usable'],
  [() => checkStepName('a\u0000'), 'the option name is not usable'],
  [() => checkStepOptions({ atempts: 2 } as never), 'there is no such option, did you mean "maxAttempts"?'],
  [() => checkStepOptions({ maxAttempts: 0 }), 'it is a whole number from 1 to 1000, not 0'],
  [() => checkStepOptions({ timeout: -1 as never }), 'it is a duration above zero, such as seconds(30), not -1'],
])('a step that is none is refused in both languages: %#', (check, problem) => {
  expect(check).toThrow(problem)
  expect(check).toThrow(expect.toSatisfy(error => englishIn(error).length === 0))
})
