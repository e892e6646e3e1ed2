/** `node recount-process.mjs '{"url":…}'`: counts batches anew in a loop until the signal to stop; see recount.mjs. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { recount } from './recount.mjs'

const { url } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))
let stopped = false
process.on('message', () => {
  stopped = true
})

const client = new pg.Client({ connectionString: url, application_name: 'auditor' })
await client.connect()
const seen = { snapshots: 0, moving: 0, wrong: 0, examples: [] }
for (let last = 0; !stopped; await sleep(2)) {
  await client.query('begin isolation level repeatable read')
  const { ended, wrong } = await recount(async text => (await client.query(text)).rows)
  await client.query('commit')
  seen.snapshots++
  if (ended !== last) seen.moving++
  last = ended
  if (wrong.length > 0) {
    seen.wrong++
    seen.examples = [...seen.examples, ...wrong].slice(0, 5)
  }
}
await client.end()
process.send({ report: seen }, () => process.exit(0))
