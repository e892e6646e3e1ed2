/** Real processes that a job brings down: who is named, and that work goes on. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect } from 'vitest'
import { createEngine, defineJob } from '../../src/index.ts'
import type { CrashReport } from '../../src/supervisor/model/crash-report.ts'
import { shareDatabase } from '../support/engine.ts'
import { onTestFinished, together, togetherEach } from '../support/together.ts'

const script = fileURLToPath(new URL('./parent.mjs', import.meta.url))

function hire(url: string) {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-culprit-test-'))
  const child = spawn(process.execPath, [script, url, join(folder, 'marker')], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true })
  })
  return {
    lines: () => said.split('\n').flatMap(line => (line.includes('worker process') ? JSON.parse(line) : [])),
    said: () => said,
  }
}

/** A job ends its process, which also runs another job; returns the crash report. */
async function bringDown(name: string) {
  const url = await shareDatabase()
  const way = defineJob<string>({ kind: 'way', run: () => {} })
  const bystander = defineJob<unknown>({ kind: 'bystander', run: () => {} })
  const engine = await createEngine({ databaseUrl: url, jobs: [way, bystander] })
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(async () => {
    await engine.close()
    await admin.end()
  })
  const other = await engine.enqueue(bystander, {})
  const parent = hire(url)
  await engine.events({ job: other.id })[Symbol.asyncIterator]().next()
  const { id } = await engine.enqueue(way, name)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 'survived' })
  expect(await engine.wait({ job: other.id })).toMatchObject({ state: 'succeeded', attempt: 2, failures: 0 })
  const { rows } = await admin.query<{ crash_report: CrashReport }>(
    'select crash_report from retoma.worker where crash_report is not null',
  )
  expect(rows).toHaveLength(1)
  const [line] = parent.lines()
  return { crashReport: rows[0]!.crash_report, id, other: other.id, said: parent.said(), line }
}

togetherEach([
  ['exit', 3],
  ['exit in the middle', 0],
  ['exit at once', 4],
])('the job that calls process.exit is named: %s', async (name, exitCode) => {
  const { crashReport, id, line } = await bringDown(name)
  expect(crashReport).toMatchObject({ how: 'named', signal: null, exitCode })
  expect(crashReport.suspectedJob).toMatchObject({ job: id, attempt: 1, how: 'exit', message: `exit code ${exitCode}` })
  expect(crashReport.suspectedJob!.stack).toContain('guest.mjs')
  expect(line).toMatchObject({ level: 'error', how: 'named', job: id })
})

togetherEach<[string, string | RegExp]>([
  ['timer', 'TypeError: boom'],
  ['tick', 'TypeError: boom'],
  ['rejection', 'TypeError: boom'],
  ['socket', 'Error: connect ENOENT /nowhere'],
  ['number', /rejected with the reason "7"/],
])('the job whose error nobody caught is named, and the process dies as it always did: %s', async (name, message) => {
  const { crashReport, id, said } = await bringDown(name)
  expect(crashReport).toMatchObject({
    how: 'named',
    exitCode: 1,
    suspectedJob: { job: id, attempt: 1, how: 'uncaught' },
  })
  expect(crashReport.suspectedJob!.message).toMatch(message)
  expect(said).toContain('Node.js v')
  expect(crashReport.stderr).toContain('Node.js v')
})

together(
  'who aborts is not named: those that had started are in the crash report, with what they said last',
  async () => {
    const { crashReport, id, other, line } = await bringDown('abort')
    expect(crashReport).toMatchObject({ how: 'unexplained', signal: 'SIGABRT', exitCode: null, suspectedJob: null })
    expect([...crashReport.started].sort()).toEqual([`${id}/1`, `${other}/1`].sort())
    expect(line.msg).toBe('worker process died: SIGABRT; at most 2 jobs were running; restarting in 0.2 s')
  },
)

together('a process that wants to be started again is, at once, and nobody is to blame', async () => {
  const { crashReport, line } = await bringDown('start me again')
  expect(crashReport).toMatchObject({ how: 'asked', exitCode: 75, suspectedJob: null })
  expect(line).toMatchObject({ level: 'warn', restartMs: 0 })
})

together('an error that somebody did catch names nobody for a later death', async () => {
  const { crashReport } = await bringDown('handled')
  expect(crashReport).toMatchObject({ how: 'unexplained', signal: 'SIGSEGV', suspectedJob: null })
})
