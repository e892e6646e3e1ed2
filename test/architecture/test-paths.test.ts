/** The paths in `npm test -- PATH`: each path runs a test, or the run fails. */
import { expect, test } from 'vitest'

/** A plain script, without types. */
const { pathsIn, projectsFor, unmatchedPaths } = await import(
  new URL('../../scripts/lib/test-paths.mjs', import.meta.url).href
)

const proof = 'apps/planner/test/kill.test.ts'
const isFile = (path: string) => path.endsWith('.test.ts')

test('the value of an option is no path', () => {
  expect(pathsIn(['test/jobs', '-t', 'a job', '--bail=1', '--shard', '1/2', proof])).toEqual(['test/jobs', proof])
})

test('npm test runs a proof that is named as a file, and no proof for a folder', () => {
  const projectsOf = (paths: string[]) => projectsFor({ ofPackages: false, paths, isFile })
  expect(projectsOf([proof])).toContain('proofs')
  expect(projectsOf([])).not.toContain('proofs')
  expect(projectsOf(['apps/planner'])).not.toContain('proofs')
  expect(projectsOf(['apps/planner', proof])).not.toContain('proofs')
  expect(projectsFor({ ofPackages: true, paths: [proof], isFile })).toEqual(['packages', 'proofs'])
})

test('a path without a test that ran is a failure that names the other command', () => {
  const unmatched = (paths: string[], files: string[], ofPackages = false) =>
    unmatchedPaths({ ofPackages, paths, files: files.map(file => `/r/${file}`), root: '/r' })
  expect(unmatched(['apps/planner', proof], ['apps/planner/routes.test.ts'])).toEqual([
    `no test file of this run matches ${proof}; the tests of other projects run with \`npm run test:packages -- ${proof}\``,
  ])
  expect(unmatched(['test/job'], ['test/jobs/a.test.ts'])).toEqual([])
  expect(unmatched(['./test/jobs/a.test.ts:12', '/r/test/jobs/'], ['test/jobs/a.test.ts'])).toEqual([])
  expect(unmatched(['test/jobs'], ['test/package/a.test.ts'], true)[0]).toContain('`npm test -- test/jobs`')
})
