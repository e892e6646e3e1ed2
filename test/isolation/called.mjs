/** A function that does as its input says, in a process of its own, and says where it was. */
import { existsSync, writeFileSync } from 'node:fs'
// Not the whole library: it is read anew by each child.
import { doNotRetry } from '../../dist/jobs/model/outcome.js'
import { spin } from './spin.mjs'

const deeds = {
  answer: ({ note }) => ({ note, pid: process.pid, map: new Map([['a', 1n]]) }),
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
  /** Says who it is, and never gives its loop back. */
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

export default (errand, given) => deeds[errand.do](errand, given)
