/**
 * The auditor: a process outside the engine, to which the handlers report every start and end. The order of the
 * reports is reliable: a handler waits for the auditor's acknowledgement after the start and before the return, so
 * handlers which overlap also overlap in the reports.
 */
import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./auditor-process.mjs', import.meta.url))
let count = 0

/**
 * Starts an auditor. `report()`: { most: { name: how many ran at once }, starts: [{ queue, key, id, at }], running }.
 */
export async function startAuditor(room) {
  const path = join(room.folder, `a${++count}`)
  const child = fork(script, [path])
  room.atEnd(() => child.kill('SIGKILL'))
  const next = () => new Promise(resolve => child.once('message', resolve))
  await next()
  return {
    path,
    report() {
      child.send('report')
      return next()
    },
  }
}

/** Connects a worker to the auditor. */
export async function callAuditor(path) {
  const socket = connect(path)
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const waiting = new Map()
  createInterface({ input: socket }).on('line', line => {
    waiting.get(line)()
    waiting.delete(line)
  })
  const say = (what, queue, key, id) =>
    new Promise(resolve => {
      waiting.set(`${what} ${id}`, resolve)
      socket.write(`${what} ${id} ${queue} ${key}\n`)
    })
  return { start: (...of) => say('start', ...of), end: (...of) => say('end', ...of) }
}
