/**
 * Requests GET /health every few milliseconds, each time over a new connection, and reports the duration of each answer.
 */
import { request } from 'node:http'

const { port, everyMs } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const times = []
let failed = 0

const ask = () => {
  const began = performance.now()
  const asked = request({ host: '127.0.0.1', port, path: '/health', agent: false }, response => {
    response.resume().on('end', () => {
      if (response.statusCode === 200) times.push(performance.now() - began)
      else failed++
    })
  })
  asked.on('error', () => failed++).end()
}
const asking = setInterval(ask, everyMs)
process.on('message', () => {
  clearInterval(asking)
  setTimeout(() => process.send({ report: { times, failed } }), 2000)
})
