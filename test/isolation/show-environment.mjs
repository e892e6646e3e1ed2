/** Says what its process or thread has in its environment; a handler and a called function at once, since it takes no input. */
import { existsSync, readFileSync } from 'node:fs'

const kernel = '/proc/self/environ'

export default () => ({
  names: Object.keys(process.env),
  text: JSON.stringify(process.env) + (existsSync(kernel) ? readFileSync(kernel, 'latin1').replaceAll('\0', '\n') : ''),
})
