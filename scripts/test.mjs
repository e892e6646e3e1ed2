/**
 * `npm test`, or a part of it: `npm test -- test/recovery`. Set-up, then vitest in an environment of its own: no setting of
 * this shell (a DATABASE_URL above all) reaches a test, and the temporary folder is private, so that two runs at once do
 * not meet and whatever a test leaves behind is found. The folder is in memory if the machine has room (lib/test-folder.mjs).
 * The last line is `N passed, N failed`.
 *
 * With `--packages` (`npm run test:packages`) the tests of the package and the examples run instead, whose set-up installs several
 * hundred megabytes, and the longest proofs. With `--durations` the run writes test/support/durations.json, the
 * order of the files.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeDurations } from './lib/durations.mjs'
import { filesLeft, processesLeft } from './lib/leftovers.mjs'
import { inRoot, root } from './lib/paths.mjs'
import { closingLine, resultsOf } from './lib/results.mjs'
import { testFolder } from './lib/test-folder.mjs'
import { giveUp } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const settings =
  /^(DATABASE_|RETOMA_(?!TEST_)|OPENROUTER_|ANTHROPIC_|SERPAPI_|FIPE_|PLUGGY_|UPSTASH_|LOG_)|^(HOST|PORT|PUBLIC_URL|TRUST_PROXY|CRON_SECRET|RETENTION_DAYS)$|^PG[A-Z]+$/

const given = process.argv.slice(2)
const ofPackages = given.includes('--packages')
const writesDurations = given.includes('--durations')
const projects = ofPackages ? ['packages', 'proofs'] : ['alone', 'browser', 'sharing', 'from-source']

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
  ...given.filter(each => each !== '--packages' && each !== '--durations'),
])
const results = resultsOf(json, ended)
if (writesDurations) writeDurations(json, inRoot('test', 'support', 'durations.json'), root)

for (const { pid, command } of await processesLeft(room)) {
  fail(`a test left a process running: ${pid} ${command}`)
  end(pid)
}
// What compiles the sources of processes that tests start keeps its cache there, for the next of them.
rmSync(join(temporary, 'jiti'), { recursive: true, force: true })
for (const name of filesLeft(temporary)) fail(`a test left this in its temporary folder: ${name}`)
try {
  rmSync(room, { recursive: true, force: true, maxRetries: 5 })
} catch (error) {
  // What cannot be removed was named above as left behind; the summary is still owed.
  console.log(`the temporary folder of this run stays: ${error.message}`)
}

for (const failure of results.failures) console.log(`failed: ${failure}`)
for (const problem of results.problems) console.log(`failed: ${problem}`)
console.log(`\n${closingLine(results)}`)
process.exitCode = results.failed > 0 ? 1 : 0

function fail(problem) {
  // Whoever interrupts the tests keeps them from tidying up.
  if (interrupted) return
  results.problems.push(problem)
  results.failed++
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone meanwhile, or not ours to end; it has been reported.
  }
}

/** Resolves with how it ended. Asked to stop, it gets the time to end its workers; what they leave is found above. */
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
