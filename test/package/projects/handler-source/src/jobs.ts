/** The same handler in three places. The source names the handler once, as a compiled file. */
import { defineJob, handlerOf } from 'retoma'

const handler = handlerOf<typeof import('./greet.js')>(new URL('./greet.js', import.meta.url))

export const inline = defineJob({ kind: 'inline', handler })
export const thread = defineJob({ kind: 'thread', handler, isolation: 'thread' })
export const inProcess = defineJob({ kind: 'process', handler, isolation: 'process' })
