/** `node auditor-process.mjs socket`, with a channel to the parent: counts the running handlers; see auditor.mjs. */
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

process.on('disconnect', () => process.exit(1))

/** Milliseconds since 1970, to the microsecond: PostgreSQL's clock on this machine. */
const instant = () => performance.timeOrigin + performance.now()

const running = new Map()
const most = {}
const starts = []

function count(name, by) {
  const n = (running.get(name) ?? 0) + by
  running.set(name, n)
  if (n < 0) throw new Error(`more ends than starts of ${name}`)
  if (n > (most[name] ?? 0)) most[name] = n
}

const server = createServer(socket => {
  socket.on('error', () => {})
  createInterface({ input: socket }).on('line', line => {
    const [what, id, queue, key] = line.split(' ')
    const by = what === 'start' ? 1 : -1
    count(queue, by)
    if (key) count(`${queue}/${key}`, by)
    if (by === 1) starts.push({ queue, key, id, at: instant() })
    socket.write(`${what} ${id}\n`)
  })
})
server.listen(process.argv[2], () => process.send('listening'))
process.on('message', () =>
  process.send({ most, starts, running: [...running.values()].reduce((sum, n) => sum + n, 0) }),
)
