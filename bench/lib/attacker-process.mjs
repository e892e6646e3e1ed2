/** Sends the most expensive requests of a role, over several connections at once, until the signal to stop. */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { worstOf } from './worst-requests.mjs'

const task = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
// A server may answer and close before the server has read the whole request. Such an error counts as an answer.
process.on('uncaughtException', error => count(error.code))
const { port, role, connections, token } = task
const agent = new Agent({ keepAlive: true, maxSockets: connections })
const requests = worstOf(role, task.targets)
const statuses = {}
let sent = 0
let isOver = false

const count = what => {
  statuses[what] = (statuses[what] ?? 0) + 1
}

function send({ method = 'GET', path, headers = {}, body, forMs }) {
  return new Promise(resolve => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const length = body === undefined ? {} : { 'content-length': body.length }
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        agent: forMs ? false : agent,
        method,
        path,
        headers: { ...authorization, ...length, ...headers },
      },
      response => {
        count(response.statusCode)
        response.resume().on('close', resolve).on('error', resolve)
        if (forMs) setTimeout(() => response.destroy(), forMs)
      },
    )
    asked.on('error', error => {
      count(error.code)
      resolve()
    })
    asked.end(body)
  })
}

async function attack() {
  while (!isOver) {
    await send(requests[sent++ % requests.length])
  }
}

/** Sends bytes which are no request, or the beginning of an endless request, and keeps the connection open. */
function hold(text) {
  if (isOver) return
  const socket = connect(port, '127.0.0.1')
  const again = () => setTimeout(hold, 200, text)
  socket.on('error', () => {}).on('close', again)
  socket.write(text)
}

process.send({ ready: true })
const attacks = Array.from({ length: connections }, attack)
if (role === 'stranger')
  for (let n = 0; n < 300; n++)
    hold(
      [
        'GET / HTTP/1.1\r\nHost: x\r\nX: ',
        'POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n{',
        '\0\0\r\n\r\n',
      ][n % 3],
    )

process.on('message', async () => {
  isOver = true
  await Promise.race([Promise.all(attacks), new Promise(resolve => setTimeout(resolve, 5000))])
  process.send({ report: { sent, statuses } }, () => process.exit())
})
