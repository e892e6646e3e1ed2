/**
 * `node clients-process.mjs '{"address":…,"clients":1000}'`: each client reads a stream of events to the end. Sends a message
 * when all clients have received an event, and reports the received events.
 */
import { get } from 'node:http'

const { address, clients } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const counted = { heartbeat: 0, progress: 0, state: 0 }
let bytes = 0
let begun = 0
let ended = 0
let broken = 0
const states = new Map()

function open(n) {
  return new Promise(resolve => {
    let rest = ''
    let quiet = true
    const done = how => {
      if (how === 'ended') ended++
      else broken++
      resolve()
    }
    const request = get(address, { agent: false }, response => {
      response.setEncoding('utf8')
      response.on('data', text => {
        if (quiet && ++begun === clients) process.send({ begun })
        quiet = false
        bytes += text.length
        const events = (rest + text).split('\n\n')
        rest = events.pop()
        for (const event of events) {
          if (!event.startsWith('event: ')) continue
          const name = event.slice(7, event.indexOf('\n'))
          counted[name] = (counted[name] ?? 0) + 1
          const [, to] = name === 'state' ? (/"to":"(\w+)"/.exec(event) ?? []) : []
          if (to) states.set(n, [...(states.get(n) ?? []), to])
        }
      })
      response.on('end', () => done('ended'))
      response.on('error', () => done('broken'))
    })
    request.on('error', () => done('broken'))
  })
}

await Promise.all(Array.from({ length: clients }, (_, n) => open(n)))
const whole = 'submitting,running,succeeded'
const reported = [...states.values()].filter(each => each.join() === whole).length
process.send({ report: { ...counted, bytes, ended, broken, reported } }, () => process.exit(0))
