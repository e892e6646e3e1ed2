/** A process without free file descriptors needs a child; prints the result, and that the process still lives. */
import { closeSync, openSync } from 'node:fs'
import { ChildPool } from '../../dist/isolation/child-pool.js'
import { silentLog } from '../../dist/lib/logging/log.js'

const taken = []
// Whatever is loaded or opened once is by now.
process.stdout.write('')
await new Promise(resolve => setTimeout(resolve, 10))
try {
  for (;;) taken.push(openSync('/dev/null'))
} catch {}
const nature = { isolation: 'process', memoryBytes: null, parentStoppedMs: 10_000 }
const { ended } = new ChildPool(silentLog).run({}, nature, {})
const { thrown } = await ended
await new Promise(resolve => setTimeout(resolve, 50))
for (const each of taken) closeSync(each)
console.log(thrown.code)
