/** A process with a single task for a proof: begins at the start, reports the outcome, and ends with the parent. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `name`: of the script, `NAME-process.mjs`; `heard`: called with each message of the process. */
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
    /** The final report of the process. */
    reported,
    /** Sends the signal to stop. Resolves with the report. */
    stop() {
      child.send('stop')
      return reported
    },
  }
}
