/** Functions that act by their input, in a separate process, and report the process. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
// Not the whole library: it is read anew by each child.
import { doNotRetry } from '../../dist/jobs/model/outcome.js'
import { spin } from './spin.mjs'

const deeds = {
  answer: ({ note }) => ({ note, pid: process.pid, map: new Map([['a', 1n]]) }),
  /** The niceness of all threads of this process, as far as the platform says so. */
  niceness() {
    if (process.platform !== 'linux') return `${getPriority()}`
    const stats = readdirSync('/proc/self/task').map(thread => readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'))
    const all = stats.map(stat => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
    // `/autogroup-7 nice 19`, where the kernel groups processes.
    const group = existsSync('/proc/self/autogroup')
      ? readFileSync('/proc/self/autogroup', 'utf8').split('nice ')[1]
      : undefined
    return [...new Set([...all, ...(group === undefined ? [] : [group.trim()])])].join(' and ')
  },
  log: (_, { log }) => log.info({ page: 1 }, 'read a page'),
  large: ({ note }) => 'x'.repeat(Number(note)),
  class: () => new (class Money {})(),
  fail: () => {
    throw Object.assign(new TypeError('not that'), { code: 'E_THAT', page: 3 })
  },
  final: () => {
    throw doNotRetry(new RangeError('never'))
  },
  exit: () => process.exit(7),
  abort: () => process.abort(),
  async uncaught() {
    setImmediate(function thrownByNobody() {
      throw new TypeError('boom')
    })
    await forEver()
  },
  allocate() {
    for (const all = []; ; ) all.push(Buffer.alloc(10_000_000, 1))
  },
  /** Reports its process id, and then blocks the event loop for ever. */
  spin({ note }) {
    writeFileSync(note, `${process.pid}`)
    spin()
  },
  /** Waits for its signal, and takes its last word. */
  async heed({ note }, { signal }) {
    if (note !== undefined) writeFileSync(note, `${process.pid}`)
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    return `heard ${signal.reason.code}`
  },
  /** Waits until that file is there. */
  async await({ note }) {
    while (!existsSync(note)) await new Promise(resolve => setTimeout(resolve, 20))
    return process.pid
  },
  /** The time it was there, to see who was there at once. */
  async hold({ note }) {
    const from = performance.timeOrigin + performance.now()
    await new Promise(resolve => setTimeout(resolve, Number(note)))
    return [from, performance.timeOrigin + performance.now()]
  },
}

const forEver = () => new Promise(() => {})

export default (childTask, given) => deeds[childTask.do](childTask, given)
