/** The durations of the test files, from which vitest.config.ts derives the order of the files. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const leastSeconds = 2

/** Replaces the durations of the files in this run, keeps the durations of other files, and removes deleted files. */
export function writeDurations(results, file, root) {
  const known = JSON.parse(readFileSync(file, 'utf8'))
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'))
  for (const { name, startTime, endTime } of testResults)
    known[relative(root, name)] = Math.round((endTime - startTime) / 1000)
  const kept = Object.entries(known).filter(
    ([name, seconds]) => seconds >= leastSeconds && existsSync(join(root, name)),
  )
  kept.sort(([a, x], [b, y]) => y - x || a.localeCompare(b))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
}
