/** Starts a worker process, receives messages, asks questions and sends signals. The process ends with the parent. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./worker-process.mjs', import.meta.url))

/** `jobs`: by name in jobs.mjs, with options; `heard`: called with each message. Resolves when the worker is ready. */
export async function startWorker(room, { heard = () => {}, ...task }) {
  // With the same flag as in `retoma worker`.
  const child = fork(script, [JSON.stringify(task)], { execArgv: ['--max-semi-space-size=4'] })
  let gone = false
  const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve({ code, signal })))
  ended.then(() => {
    gone = true
  })
  const questions = []
  let working
  const ready = new Promise(resolve => {
    working = resolve
  })
  child.on('message', message => {
    if (message.working) working(message.working)
    else if ('answer' in message) questions.shift()(message.answer)
    else heard(message)
  })
  const worker = {
    pid: child.pid,
    ended,
    ask: (name, given) =>
      new Promise(resolve => {
        questions.push(resolve)
        child.send({ ask: name, given })
      }),
    signal: name => child.kill(name),
    async kill() {
      if (!gone) child.kill('SIGKILL')
      await ended
    },
  }
  room.atEnd(() => worker.kill())
  const early = ended.then(({ code, signal }) => {
    throw new Error(`a worker ended before it worked: ${signal ?? code}`)
  })
  early.catch(() => {})
  worker.id = await Promise.race([ready, early])
  return worker
}
