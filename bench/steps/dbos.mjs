/** DBOS with its defaults: a workflow of five steps, started in the process that runs it. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import { alone, atOnce, five } from './plan.mjs'

export async function measure(url, jobs) {
  let latency
  const work = DBOS.registerWorkflow(
    async () => {
      for (const name of five) await DBOS.runStep(async () => name, { name })
    },
    { name: 'work' },
  )
  const long = DBOS.registerWorkflow(
    async () => {
      latency = await alone(n => DBOS.runStep(async () => n, { name: `s${n}` }))
    },
    { name: 'long' },
  )
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error', runAdminServer: false })
  await DBOS.launch()
  await long()
  let left = jobs
  const began = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work()
    }),
  )
  const rate = (jobs * five.length * 1000) / (performance.now() - began)
  await DBOS.shutdown()
  return { rate, latency }
}
