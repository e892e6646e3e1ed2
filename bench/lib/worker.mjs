/** A worker process from outside: start it, hear what it tells, ask it, send it signals. It ends when we do. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./worker-process.mjs', import.meta.url))

/** `jobs`: by name in jobs.mjs, with their options; `heard`: called with each thing it tells. Resolves when it works. */
export async function startWorker(room, { heard = () => {}, ...task }) {
  // As `retoma worker` starts its own.
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
