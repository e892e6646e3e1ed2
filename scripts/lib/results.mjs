/**
 * The numbers of a test run, from the JSON that vitest wrote. Whatever makes a run bad counts as a failure, so that the
 * closing line and the exit status cannot disagree.
 */
import { readFileSync } from 'node:fs'

/** `{ passed, failed, skipped, problems }`; each problem is a sentence and counts as one failure. */
export function resultsOf(file, { status, signal }) {
  const json = read(file)
  if (json === undefined) {
    return {
      passed: 0,
      failed: 1,
      skipped: 0,
      problems: [`vitest ended without a result (${signal ?? `exit ${status}`})`],
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
  return { passed, failed: failedTests + brokenFiles + problems.length, skipped, problems }
}

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
