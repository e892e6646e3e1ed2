/**
 * The numbers of a test run, from the JSON that vitest wrote. Whatever makes a run bad counts as a failure, so that the
 * closing line and the exit status cannot disagree.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './paths.mjs'

/**
 * `{ passed, failed, skipped, problems, failures }`. Each problem is a sentence and counts as one failure; `failures` names each failed test
 * and each broken file with the first line of its error, for the end of a long output.
 */
export function resultsOf(file, { status, signal }) {
  const json = read(file)
  if (json === undefined) {
    return {
      passed: 0,
      failed: 1,
      skipped: 0,
      problems: [`vitest ended without a result (${signal ?? `exit ${status}`})`],
      failures: [],
    }
  }
  const passed = json.numPassedTests
  const failedTests = json.numFailedTests
  const skipped = json.numPendingTests + json.numTodoTests
  // A file that cannot be loaded, or whose hooks fail, has no failed test to count.
  const brokenFiles = json.testResults.filter(
    suite => suite.status === 'failed' && !suite.assertionResults.some(test => test.status === 'failed'),
  ).length
  const problems = []
  if (passed + failedTests + brokenFiles === 0) problems.push('no test ran')
  else if (status !== 0 && failedTests + brokenFiles === 0) {
    problems.push(`every test passed, but vitest ended with ${signal ?? `exit ${status}`}: see the errors above`)
  }
  return {
    passed,
    failed: failedTests + brokenFiles + problems.length,
    skipped,
    problems,
    failures: json.testResults.filter(suite => suite.status === 'failed').flatMap(failuresOf),
  }
}

function failuresOf(suite) {
  const file = relative(root, suite.name)
  const failed = suite.assertionResults.filter(test => test.status === 'failed')
  if (failed.length === 0) return [`${file}: ${firstLine(suite.message)}`]
  return failed.map(test => `${file} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`)
}

const firstLine = text =>
  stripVTControlCharacters(String(text ?? ''))
    .split('\n', 1)[0]
    .slice(0, 300)

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

export function closingLine({ passed, failed, skipped = 0 }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
