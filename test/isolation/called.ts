/** A function that does as it is told, in a process of its own, and says where it was. */
import { writeFileSync } from 'node:fs'
// Not the whole library: it is read anew by each child.
import type { JobLog } from '../../src/core/context.ts'
import { doNotRetry } from '../../src/core/outcome.ts'

export interface Errand {
  do: keyof typeof deeds
  note?: string
}

type Given = { signal: AbortSignal; log: JobLog }

const deeds = {
  answer: ({ note }: Errand) => ({ note, pid: process.pid, map: new Map([['a', 1n]]) }),
  log: (_: Errand, { log }: Given) => log.info({ page: 1 }, 'read a page'),
  large: ({ note }: Errand) => 'x'.repeat(Number(note)),
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
    for (const all: unknown[] = []; ; ) all.push(Buffer.alloc(10_000_000, 1))
  },
  /** Says who it is, and never gives its loop back. */
  spin({ note }: Errand) {
    writeFileSync(note!, `${process.pid}`)
    for (;;);
  },
  /** Waits for its signal, and takes its last word. */
  async heed({ note }: Errand, { signal }: Given) {
    if (note !== undefined) writeFileSync(note, `${process.pid}`)
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    return `heard ${(signal.reason as { code: string }).code}`
  },
  /** The time it was there, to see who was there at once. */
  async hold({ note }: Errand) {
    const from = performance.timeOrigin + performance.now()
    await new Promise(resolve => setTimeout(resolve, Number(note)))
    return [from, performance.timeOrigin + performance.now()]
  },
} satisfies Record<string, (errand: Errand, given: Given) => unknown>

const forEver = () => new Promise<never>(() => {})

export default (errand: Errand, given: Given): unknown =>
  (deeds[errand.do] as (errand: Errand, given: Given) => unknown)(errand, given)
