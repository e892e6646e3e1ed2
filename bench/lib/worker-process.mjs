/**
 * `node worker-process.mjs '{"url":…}'`, with a channel to the parent: runs a worker; ends when the parent is gone.
 */
import { createEngine } from '../../dist/index.js'
import { callAuditor } from './auditor.mjs'
import { jobs } from './jobs.mjs'

const { url, jobs: wanted, queues, audit, grace } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const answers = {}
const tell = message => process.connected && process.send(message)
process.on('message', async ({ ask, given }) => tell({ answer: (await answers[ask](given)) ?? null }))

const auditor = audit ? await callAuditor(audit) : undefined
const engine = await createEngine({
  databaseUrl: url,
  jobs: wanted.map(({ name, ...options }) => jobs[name]({ tell, answers, auditor, ...options })),
  migrate: false,
})
const worker = await engine.work({ queues, ...(grace ? { grace } : {}) })
process.once('SIGTERM', async () => {
  process.once('SIGTERM', () => process.exit(143))
  await engine.close()
  process.exit(0)
})
tell({ working: worker.id })
