/**
 * The numbers of a test run, from the JSON of vitest. Every problem of a run counts as a failure, so the closing line
 * and the exit status always agree.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './paths.mjs'

/**
 * Returns `{ passed, failed, skipped, problems, failures, files }`. Each problem is a sentence and counts as 1 failure; `failures` names each
 * failed test and each broken file with the first line of the error, for the end of a long output; `files` are the files that ran.
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
      files: [],
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
    files: json.testResults.map(({ name }) => name),
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
