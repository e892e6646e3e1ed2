/**
 * Rate limits of users over HTTP, from several server processes: never more requests than the limit. Also measures the
 * cost of a check, for 1 user and for 400, allowed and refused.
 */
import { Agent, request } from 'node:http'
import { createEngine, minutes } from '../../dist/index.js'
import { grouped, median, part, round } from '../lib/figures.mjs'
import { startHelper } from '../lib/helper.mjs'

export const title = '2,000 requests at once on a bucket of 10: exactly 10 pass; at least 1,500 checks a second'

/** `who`: so many users; `limit`: of each. Above 256 a window is kept in parts of its time. */
const loads = {
  'one user, all pass': { who: 1, limit: 1_000_000 },
  'one user, at the limit': { who: 1, limit: 10 },
  '400 users, all pass': { who: 400, limit: 200 },
  '400 users, at their limits': { who: 400, limit: 10 },
}
const callers = 64

export async function prove(proof) {
  const server = await proof.room.server()
  await exactly(proof, server)
  for (const [name, load] of Object.entries(loads)) await checks(proof, server, name, load)
}

async function exactly({ room, hold, say }, server) {
  const { url } = await server.database()
  const ports = []
  const heard = new Promise(resolve => {
    for (let i = 0; i < 3; i++)
      startHelper(room, 'limited', { url }, ({ port }) => {
        ports.push(port)
        if (ports.length === 3) resolve()
      })
  })
  await heard
  const agent = new Agent({ keepAlive: true, maxSockets: 100 })
  const post = port =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, method: 'POST', path: '/uploads', agent }, response => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
        .on('error', reject)
        .end()
    })
  const began = performance.now()
  const answers = await Promise.all(Array.from({ length: 2000 }, (_, i) => post(ports[i % 3])))
  const took = (performance.now() - began) / 1000
  agent.destroy()
  const count = status => answers.filter(each => each === status).length
  say(
    `2,000 requests of one user at 3 servers in ${round(took, 1)} s: ${count(200)} passed, ${count(429)} were refused`,
  )
  hold(
    'exactly 10 passed and 1,990 were refused, in less than the minute',
    count(200) === 10 && count(429) === 1990 && took < 60,
  )
}

async function checks({ room, scale, say, atLeast }, server, name, { who, limit }) {
  const { url } = await server.database()
  const engine = await createEngine({ databaseUrl: url, rateLimits: 'postgresql' })
  room.atEnd(() => engine.close())
  const rates = []
  const times = []
  for (let round = 0; round < 4; round++) {
    let left = Math.round(10_000 * scale)
    const caller = async () => {
      while (left-- > 0) {
        const began = performance.now()
        await engine.limit({ bucket: `b${round}`, who: `u${left % who}`, limit, per: minutes(1) })
        times.push(performance.now() - began)
      }
    }
    const began = performance.now()
    await Promise.all(Array.from({ length: callers }, caller))
    rates.push(Math.round(10_000 * scale) / ((performance.now() - began) / 1000))
  }
  const rate = median(rates.slice(1))
  say(
    `${name}: ${grouped(rate)} checks/s, ${round(median(times), 1)} ms at the median, ${round(part(times, 0.99), 1)} ms at p99`,
  )
  atLeast(`${name}: checks a second`, Math.round(rate), 1500)
  await engine.close()
}
