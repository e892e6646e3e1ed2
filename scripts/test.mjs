/**
 * `npm test`, or a part of it: `npm test -- test/recovery`. A path without a test is a failure. Set-up, then vitest in an environment of its own: no setting of
 * this shell (a DATABASE_URL above all) reaches a test, and the temporary folder is private, so that two runs at once do
 * not meet and whatever a test leaves behind is found. The folder is in memory if the machine has room (lib/test-folder.mjs).
 * The last line is `N passed, N failed`.
 *
 * With `--packages` (`npm run test:packages`) the tests of the package and the examples run instead, whose set-up installs several
 * hundred megabytes, and the longest proofs. `npm test` runs a proof that the arguments name as a file. With `--durations` the run writes test/support/durations.json, the
 * order of the files.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeDurations } from './lib/durations.mjs'
import { filesLeft, processesLeft } from './lib/leftovers.mjs'
import { inRoot, root } from './lib/paths.mjs'
import { closingLine, resultsOf } from './lib/results.mjs'
import { testFolder } from './lib/test-folder.mjs'
import { pathsIn, projectsFor, unmatchedPaths } from './lib/test-paths.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const settings =
  /^(DATABASE_|RETOMA_(?!TEST_)|OPENROUTER_|ANTHROPIC_|SERPAPI_|FIPE_|PLUGGY_|UPSTASH_|LOG_)|^(HOST|PORT|PUBLIC_URL|TRUST_PROXY|CRON_SECRET|RETENTION_DAYS)$|^PG[A-Z]+$/

const given = process.argv.slice(2)
const ofPackages = given.includes('--packages')
const writesDurations = given.includes('--durations')
const args = given.filter(each => each !== '--packages' && each !== '--durations')
const paths = pathsIn(args)
const isFile = path => statSync(resolve(root, path.replace(/:\d+$/, '')), { throwIfNoEntry: false })?.isFile() ?? false
const projects = projectsFor({ ofPackages, paths, isFile })

await setup({
  build: true,
  ...(ofPackages ? { servers: true, examples: true, next: true, runtimes: true } : {}),
}).catch(error => {
  process.on('exit', () => console.log(`\n${closingLine({ passed: 0, failed: 1 })}`))
  giveUp(error)
})

// Short names: a Unix socket's path has 104 characters at most.
const room = mkdtempSync(join(ofPackages ? tmpdir() : testFolder(), 'retoma-'))
const temporary = join(room, 't')
mkdirSync(temporary)
// As root, tests run PostgreSQL as another user, which has to be able to pass through.
for (const folder of [room, temporary]) chmodSync(folder, 0o711)

const json = join(room, 'results.json')
let interrupted = false
const ended = await vitest([
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${json}`,
  ...projects.map(name => `--project=${name}`),
  ...args,
])
const results = resultsOf(json, ended)
if (writesDurations) writeDurations(json, inRoot('test', 'support', 'durations.json'), root)

for (const problem of unmatchedPaths({ ofPackages, paths, files: results.files, root })) fail(problem)

for (const { pid, command } of await processesLeft(room)) {
  fail(`a test left a process running: ${pid} ${command}`)
  end(pid)
}
// jiti compiles the sources of child processes and keeps a cache there for the next process.
rmSync(join(temporary, 'jiti'), { recursive: true, force: true })
for (const name of filesLeft(temporary)) fail(`a test left this in its temporary folder: ${name}`)
try {
  rmSync(room, { recursive: true, force: true, maxRetries: 5 })
} catch (error) {
  // The lines above have named the files which cannot be removed. The summary must still be printed.
  console.log(`the temporary folder of this run stays: ${error.message}`)
}

for (const failure of results.failures) console.log(`failed: ${failure}`)
for (const problem of results.problems) console.log(`failed: ${problem}`)
console.log(`\n${closingLine(results)}`)
process.exitCode = results.failed > 0 ? 1 : 0

function fail(problem) {
  // After an interruption the tests could not clean up, so leftovers are no failure.
  if (interrupted) return
  results.problems.push(problem)
  results.failed++
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended, or belongs to another user. The report above names the process.
  }
}

/**
 * Runs vitest. Resolves with the exit status. After a signal to stop, vitest gets time to end the workers; the checks
 * above find leftovers.
 */
function vitest(args) {
  const env = { ...process.env, TMPDIR: temporary, NODE_ENV: 'test' }
  for (const name of Object.keys(env)) if (settings.test(name)) delete env[name]
  const command = [inRoot('node_modules', 'vitest', 'vitest.mjs'), ...args]
  const child = spawn(process.execPath, command, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  const stop = () => {
    interrupted = true
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), 5000).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => resolve({ status, signal }))
  })
}
