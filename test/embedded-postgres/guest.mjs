/**
 * A program that uses the embedded server, run as a process of its own so that tests can kill it. Its input says what to do
 * line by line and answers each line with one of JSON. Started by support.ts.
 */
import { createInterface } from 'node:readline'
import { openEmbedded } from '../../dist/embedded-postgres/index.js'
import { startTestServer } from '../../dist/testing/test-server.js'

const { package: packageFolder, machine, ...options } = JSON.parse(process.argv[2] ?? '{}')
let server

async function obey(order) {
  if (order === 'test-server') return { url: (await startTestServer()).url }
  if (order === 'open') {
    server = await openEmbedded({
      ...options,
      machine: { ...machine, ...(packageFolder ? { packageFolder: () => packageFolder } : {}) },
    })
    return { url: server.url, folder: server.folder, started: server.started }
  }
  if (order === 'revive') await server?.revive()
  if (order === 'leave') await server?.leave()
  return {}
}

const answer = facts => process.stdout.write(`${JSON.stringify(facts)}\n`)

const orders = createInterface({ input: process.stdin })
orders.on('line', order => {
  // Nothing of its own keeps the program alive from here on.
  if (order === 'finish') return void process.stdin.destroy()
  if (order === 'exit') process.exit(1)
  obey(order).then(answer, error => answer({ code: error.code ?? 'unexpected', message: String(error.message) }))
})
