/**
 * Load over open sockets: each socket sends the next request after the answer to the last request. Bare sockets, because
 * the client shares the machine with the measured server.
 */
import { connect } from 'node:net'

const { port, connections, seconds, text } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const payload = Buffer.from(text.replace('PORT', String(port)))
const waits = []
const statuses = {}
const endAt = performance.now() + seconds * 1000

const one = () =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay()
    let sentAt = 0
    let heard = ''
    const next = () => {
      if (performance.now() >= endAt) return resolve(void socket.destroy())
      sentAt = performance.now()
      socket.write(payload)
    }
    socket.setEncoding('latin1')
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server hung up')))
    socket.on('data', some => {
      heard += some
      const head = heard.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(heard)?.[1])
      if (!(heard.length >= head + 4 + length)) return
      const status = heard.slice(9, 12)
      statuses[status] = (statuses[status] ?? 0) + 1
      waits.push(performance.now() - sentAt)
      heard = ''
      next()
    })
  })

const began = performance.now()
await Promise.all(Array.from({ length: connections }, one))
const took = (performance.now() - began) / 1000
waits.sort((a, b) => a - b)
const at = share => waits[Math.floor(waits.length * share)] ?? 0
const { user, system } = process.cpuUsage()
process.send({
  report: {
    perSecond: waits.length / took,
    p50: at(0.5),
    p99: at(0.99),
    statuses,
    cpuMs: (user + system) / 1000,
    took,
  },
})
