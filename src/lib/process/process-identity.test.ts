/** A process counts as gone only with proof. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { identityOf, isGone, thisProcess } from './process-identity.ts'

const isLinux = process.platform === 'linux'

/** A process that ends when stdin ends. */
function sleeper(): ChildProcess & { pid: number } {
  const child = spawn('cat', [], { stdio: ['pipe', 'ignore', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child as ChildProcess & { pid: number }
}

test.runIf(isLinux)('a process that lives is not gone, and one that was killed is', async () => {
  expect(isGone(thisProcess()!)).toBe(false)
  const child = sleeper()
  const identity = identityOf(child.pid)!
  expect(isGone(identity)).toBe(false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isGone(identity)).toBe(true)
})

test.runIf(isLinux)('a process that is dead and not yet collected by its parent is gone', async () => {
  // The shell becomes a program that never collects the child.
  const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [said] = (await once(parent.stdout!, 'data')) as [Buffer]
  const pid = Number(said)
  await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toMatch(/^cat/)
  const identity = identityOf(pid)!
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'latin1')).toMatch(/\) Z /)
  expect(isGone(identity)).toBe(true)
})

test.runIf(isLinux)('a number that another process has got since does not make the first one live', () => {
  const identity = identityOf(sleeper().pid)!
  expect(isGone({ ...identity, start: `${Number(identity.start) - 1}` })).toBe(true)
})

test.runIf(isLinux)('of a process of another machine, container or start of this machine nothing is certain', () => {
  const identity = { ...thisProcess()!, pid: 2 ** 22 + 1 }
  expect(isGone(identity)).toBe(true)
  expect(isGone({ ...identity, machine: identity.machine.replace(/^\S+/, 'other-boot') })).toBe(false)
  expect(isGone({ ...identity, machine: identity.machine.replace(/pid:\[\d+\]/, 'pid:[1]') })).toBe(false)
})

test('a container on this machine is another one: its numbers mean other processes', context => {
  const unshare = ['unshare', ...(process.getuid?.() === 0 ? [] : ['-r']), '-pf', '--mount-proc']
  const apart = (code: string) => {
    const [program, ...rest] = [...unshare, process.execPath, '--input-type=module', '-e', code]
    return spawnSync(program!, rest, { encoding: 'utf8' })
  }
  if (!isLinux || apart('').status !== 0) return context.skip('namespaces are forbidden here')
  const file = fileURLToPath(new URL('../../../dist/lib/process/process-identity.js', import.meta.url))
  const { stdout } = apart(`console.log(JSON.stringify((await import(${JSON.stringify(file)})).thisProcess()))`)
  const there = JSON.parse(stdout)
  expect(there.machine).not.toBe(thisProcess()!.machine)
  expect(isGone(there)).toBe(false)
})
