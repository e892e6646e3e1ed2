/** Blocks the event loop for ever; as a handler, reports its process id first. */
import { writeSync } from 'node:fs'

/** Half a second in a loop; from then on it waits where nothing wakes it, so that the processor is free for whoever is tested. */
export function spin() {
  for (const from = performance.now(); performance.now() - from < 500; );
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

export default () => {
  writeSync(1, `${process.pid}\n`)
  spin()
}
