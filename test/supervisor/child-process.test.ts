/** A process that does not get ready, on a clock that the test moves. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { seconds } from '../../src/index.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { SupervisedProcess } from '../../src/supervisor/child-process.ts'
import { removeStatusFile, writeStatusFile } from '../../src/supervisor/status-files.ts'
import { VirtualClock } from '../../src/testing/index.ts'

function begin<T extends Clock = VirtualClock>(script: string, given?: T) {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-boot-test-'))
  const entry = join(folder, 'entry.mjs')
  writeFileSync(entry, script)
  const clock = (given ?? new VirtualClock()) as T
  const late: [number, boolean][] = []
  const child = new SupervisedProcess({
    program: { entry, args: [], execArgv: [], env: process.env },
    reportFolder: folder,
    clock,
    late: (...how) => void late.push(how),
  })
  onTestFinished(async () => {
    child.send('SIGKILL')
    await child.ended
    rmSync(folder, { recursive: true })
  })
  return { boot: child, clock, late, reportFolder: folder }
}

const idle = 'setInterval(() => {}, 1000)'

test('one that is not ready after a minute is reported, and after two killed', async () => {
  const { boot: child, clock, late } = begin(idle)
  await clock.advance(seconds(59))
  expect(late).toEqual([])
  await clock.advance(seconds(60))
  expect(late).toEqual([[60, false]])
  await clock.advance(seconds(1))
  expect(late.at(-1)).toEqual([120, true])
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL', readyMs: null })
})

test('one that waits for its database is not killed, only told of every minute', async () => {
  const { boot: child, clock, late, reportFolder } = begin(idle)
  writeStatusFile(reportFolder, 'database')
  await clock.advance(seconds(300))
  expect(late).toEqual([60, 120, 180, 240, 300].map(after => [after, false]))
  removeStatusFile(reportFolder, 'database')
  writeStatusFile(reportFolder, 'ready')
  await clock.advance(seconds(120))
  expect(late).toHaveLength(5)
  child.send('SIGTERM')
  expect(await child.ended).toMatchObject({ signal: 'SIGTERM', readyMs: seconds(119) })
})

test('one that the kernel does not let start has ended, and does not end its supervisor', async () => {
  const program = { entry: 'nothing.mjs', args: ['x'.repeat(300_000)], execArgv: [], env: process.env }
  const child = new SupervisedProcess({ program, reportFolder: tmpdir(), clock: systemClock, late: () => {} })
  child.send('SIGTERM')
  expect(await child.ended).toMatchObject({ exitCode: 1, signal: null, readyMs: null })
})

test('how it ends is known though a process of its own still has its stderr, and what it said is kept', async () => {
  const { boot: child, reportFolder } = begin(
    `import { spawn } from 'node:child_process'
    import { writeFileSync, writeSync } from 'node:fs'
    writeSync(2, 'last words\\n')
    const { pid } = spawn(process.execPath, ['-e', '${idle}'], { stdio: ['ignore', 'ignore', 'inherit'], detached: true })
    writeFileSync(new URL('heir', import.meta.url), String(pid))
    process.kill(process.pid, 'SIGSEGV')`,
    systemClock,
  )
  const end = await child.ended
  process.kill(Number(readFileSync(join(reportFolder, 'heir'), 'utf8')), 'SIGKILL')
  expect(end).toMatchObject({ signal: 'SIGSEGV', exitCode: null, stderr: 'last words\n' })
})
