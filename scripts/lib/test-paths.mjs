/**
 * Reads the paths among the arguments of a test run: the projects that the paths need, and the paths of which no file ran. A path that runs
 * nothing is a failure: vitest passes if another path has tests.
 */
import { isAbsolute, normalize, relative } from 'node:path'

/** Options of vitest whose value is the next argument. */
const withValue =
  /^(-t|-c|-r|--(testNamePattern|config|root|dir|reporter|outputFile|project|pool|maxWorkers|bail|retry|shard|testTimeout|hookTimeout|exclude|environment|mode|maxConcurrency))$/

/** The arguments that name files or folders. */
export const pathsIn = args =>
  args.filter((each, index) => !each.startsWith('-') && !(index > 0 && withValue.test(args[index - 1])))

const usual = ['alone', 'browser', 'sharing', 'from-source']

/**
 * A proof takes long, and `npm test` runs a proof only if every path is a file: the file is meant. `isFile` tells whether a path is a file.
 * The project `packages` needs a set-up of several hundred megabytes, which only `npm run test:packages` makes.
 */
export function projectsFor({ ofPackages, paths, isFile }) {
  if (ofPackages) return ['packages', 'proofs']
  return paths.length > 0 && paths.every(isFile) ? [...usual, 'proofs'] : usual
}

/** A sentence for each path without a file in the run. `files`: absolute names of the files that ran. */
export function unmatchedPaths({ ofPackages, paths, files, root }) {
  const ran = files.map(file => relative(root, file))
  return paths
    .filter(path => {
      // A line number after the path is a filter of vitest.
      const name = normalize(path.replace(/:\d+$/, ''))
      const wanted = isAbsolute(name) ? relative(root, name) : name
      return !ran.some(file => file.toLowerCase().includes(wanted.toLowerCase()))
    })
    .map(path => {
      const other = ofPackages ? 'npm test' : 'npm run test:packages'
      return `no test file of this run matches ${path}; the tests of other projects run with \`${other} -- ${path}\``
    })
}
