/**
 * A program that uses the embedded server, run as a process of its own so that tests can kill it. It is told what to do
 * line by line and answers each line with one of JSON. Started by support.ts.
 */
import { createInterface } from 'node:readline'
import { type EmbeddedOptions, type EmbeddedPostgres, openEmbedded } from '../../src/postgres/index.ts'
import { startTestServer } from '../../src/testing/test-server.ts'

const {
  package: packageFolder,
  machine,
  ...options
} = JSON.parse(process.argv[2] ?? '{}') as EmbeddedOptions & {
  package?: string
}
let server: EmbeddedPostgres | undefined

async function obey(order: string): Promise<object> {
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

const answer = (facts: object) => process.stdout.write(`${JSON.stringify(facts)}\n`)

const orders = createInterface({ input: process.stdin })
orders.on('line', order => {
  // Nothing of its own keeps the program alive from here on.
  if (order === 'finish') return void process.stdin.destroy()
  if (order === 'exit') process.exit(1)
  obey(order).then(answer, error => answer({ code: error.code ?? 'unexpected', message: String(error.message) }))
})
