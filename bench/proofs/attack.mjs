/**
 * GET /health while a viewer, an operator and a stranger without a token send the worst requests that we know of: each alone, then
 * all three for a minute. The server has the routes of the engine and of all five systems. Server, PostgreSQL and
 * senders share this machine.
 */
import { part } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'
import { watchRss } from '../lib/rss.mjs'

export const title = 'GET /health while a viewer, an operator and a stranger send the worst requests'

const mb = 1024 * 1024
const roles = ['stranger', 'viewer', 'operator']

export async function prove({ room, scale, say, hold, atMost }) {
  const server = await room.server()
  const database = await server.database()
  const target = await startServer(room, { url: database.url, scale })
  const mostRss = watchRss(target.pid)
  // Once each: of an address that guesses, only tokens that were good before are looked up.
  for (const token of [target.viewer, target.operator])
    await fetch(`http://127.0.0.1:${target.port}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  const quiet = await under(room, target, [], 5)
  say(`nobody: ${figures(quiet)}`)
  for (const role of roles) {
    const found = await under(room, target, [role], Math.max(5, Math.round(20 * scale)))
    say(`${role}: ${figures(found)}`)
  }
  const all = await under(room, target, roles, Math.max(10, Math.round(60 * scale)))
  say(`all three: ${figures(all)}`)
  atMost('GET /health under all three, p99', part(all.times, 0.99), 200, ' ms')
  hold(`${all.failed} of ${all.times.length} were not answered`, all.failed === 0)
  hold(`no answer was 500: ${JSON.stringify(all.statuses)}`, all.statuses[500] === undefined)
  atMost('memory of the API, at its most', mostRss() / mb, 1500, ' MB')
}

const ms = value => `${value.toFixed(1)} ms`
const figures = ({ times, sent, statuses }) =>
  `p50 ${ms(part(times, 0.5))}, p99 ${ms(part(times, 0.99))}, max ${ms(part(times, 1))} of ${times.length}; ${sent} requests, ${JSON.stringify(statuses)}`

async function startServer(room, task) {
  let heard
  const listening = new Promise(resolve => {
    heard = resolve
  })
  const { pid } = startHelper(room, 'attacked-server', task, message => heard(message))
  return { pid, ...(await listening) }
}

async function under(room, target, senders, seconds) {
  const { port, viewer, operator, targets } = target
  const tokens = { viewer, operator }
  const attackers = []
  // Each makes its bodies first, which takes a processor for a second: that is not the server's doing.
  await Promise.all(
    senders.map(
      role =>
        new Promise(resolve => {
          const task = { port, role, token: tokens[role], connections: 8, targets }
          attackers.push(startHelper(room, 'attacker', task, resolve))
        }),
    ),
  )
  const health = startHelper(room, 'health', { port, everyMs: 20 })
  await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  const { times, failed } = await health.stop()
  const reports = await Promise.all(attackers.map(each => each.stop()))
  const statuses = {}
  for (const report of reports)
    for (const [status, n] of Object.entries(report.statuses)) statuses[status] = (statuses[status] ?? 0) + n
  return { times, failed, statuses, sent: reports.reduce((sum, each) => sum + each.sent, 0) }
}
