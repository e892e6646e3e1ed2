/**
 * Collects the error codes that the tests of a run have received over HTTP. A code that a route documents and no test receives is untested
 * or wrong: after a run of all of test/http, such a code fails the run. test/http/answers.ts checks the reverse for each response: no route
 * answers an undocumented code.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { codeOf, entryOf } from '../../src/errors/errors.ts'
import { routesOf } from '../../src/http/app.ts'

/** What a caller can put right, and the document therefore names. */
const named = [400, 404, 409]

/** Told, and not to be brought about by waiting for an event. */
const unseeable = [
  // Twenty times in a row somebody stalls it again between the action and the check.
  'post /api/v1/batches/{id}/resume batch_state',
]

const lineOf = (method: string, path: string, code: string) => `${method} ${path} ${code}`
const noted = new Set<string>()

/** By whatever process got it; a line is short enough to be written at once. */
export function note(file: string, method: string, path: string, code: string): void {
  const line = lineOf(method, path, code)
  if (!noted.has(line)) appendFileSync(file, `${line}\n`)
  noted.add(line)
}

export function unseen(file: string): string[] {
  const seen = new Set([...readFileSync(file, 'utf8').split('\n'), ...unseeable])
  return routesOf({})
    .flatMap(({ method, path, errors = [], makes }) => {
      const again = makes ? (['idempotency_conflict'] as const) : []
      const reported = [...errors, ...again].filter(code => named.includes(entryOf(code).status))
      return reported.map(code => lineOf(method, path, codeOf(code)))
    })
    .filter(line => !seen.has(line))
}

/** A part of the tests, or one that failed, has not seen everything. */
export function sawAll({ vitest, config }: TestProject): boolean {
  const folder = fileURLToPath(new URL('../http/', import.meta.url))
  const ran = vitest.state.getFiles().filter(({ result }) => result?.state === 'pass')
  const files = readdirSync(folder).filter(name => name.endsWith('.test.ts'))
  return config.testNamePattern === undefined && files.every(name => ran.some(each => each.filepath === folder + name))
}
