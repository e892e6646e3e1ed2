/** Says who it is, and never gives its loop back. */
import { writeSync } from 'node:fs'

export default () => {
  writeSync(1, `${process.pid}\n`)
  for (;;);
}
