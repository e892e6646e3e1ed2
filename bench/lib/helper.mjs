/** A process that does one thing for a proof and reports it: it begins when it is started, and ends when we do. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `name`: of the script, `NAME-process.mjs`; `heard`: called with each thing it tells. */
export function startHelper(room, name, task, heard = () => {}) {
  const script = fileURLToPath(new URL(`./${name}-process.mjs`, import.meta.url))
  const child = fork(script, [JSON.stringify(task)])
  room.atEnd(() => child.kill('SIGKILL'))
  let report
  const reported = new Promise((resolve, reject) => {
    report = resolve
    child.on('exit', (code, signal) => reject(new Error(`${name} ended before its report: ${signal ?? code}`)))
  })
  reported.catch(() => {})
  child.on('message', message => ('report' in message ? report(message.report) : heard(message)))
  return {
    pid: child.pid,
    /** What it has to say at its end. */
    reported,
    /** Tells it to come to an end. */
    stop() {
      child.send('stop')
      return reported
    },
  }
}
