/**
 * Simulates users with a list: each user has a separate socket and sends a request every `everyMs`. Ends when the parent sends stop. Bare
 * sockets, because the client shares the machine with the measured server. The first request of each reader is not counted: the first
 * request contains the connection, and 500 connections of a new process would be most of the slowest twentieth of a short measurement.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const { port, readers, everyMs, path } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
let isOver = false
process.on('message', () => {
  isOver = true
})
const waits = []
const statuses = {}

async function reader(n) {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay()
  socket.setEncoding('latin1')
  let heard = ''
  let answered = () => {}
  let broken = () => {}
  const trouble = error => broken(error)
  socket.on('error', trouble).on('close', () => trouble(new Error('the server hung up')))
  socket.on('data', some => {
    heard += some
    const head = heard.indexOf('\r\n\r\n')
    if (head < 0 || !(heard.length >= head + 4 + Number(/content-length: (\d+)/i.exec(heard)?.[1]))) return
    const status = heard.slice(9, 12)
    heard = ''
    answered(status)
  })
  // Not all in the same moment.
  await sleep((everyMs * n) / readers)
  for (let first = true; !isOver; first = false) {
    const sentAt = performance.now()
    const status = await new Promise((resolve, reject) => {
      answered = resolve
      broken = reject
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-User-Id: user${n}\r\n\r\n`)
    }).catch(() => 'broken')
    const took = performance.now() - sentAt
    if (!first) waits.push(took)
    statuses[status] = (statuses[status] ?? 0) + 1
    if (status === 'broken') break
    await sleep(Math.max(everyMs - took, 0))
  }
  broken = () => {}
  socket.destroy()
}

await Promise.all(Array.from({ length: readers }, (_, n) => reader(n)))
waits.sort((a, b) => a - b)
const at = share => waits[Math.floor(waits.length * share)] ?? 0
process.send({ report: { requests: waits.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), statuses } })
process.disconnect()
