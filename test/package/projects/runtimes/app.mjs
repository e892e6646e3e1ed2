/** An app with a handler in the process of its worker, in a thread and in a process. Prints the results. */
import { createEngine, defineJob, skip } from 'retoma'
import { createApp } from 'retoma/http'

const handler = new URL('./handler.mjs', import.meta.url)
const jobs = [
  defineJob({
    kind: 'inline',
    run: (ctx, { name }) => (name === '' ? skip('no name') : ctx.step('greet', () => `Hello, ${name}`)),
  }),
  defineJob({ kind: 'thread', handler, isolation: 'thread' }),
  defineJob({ kind: 'process', handler, isolation: 'process' }),
]
const engine = await createEngine({ jobs })
await engine.work()
const app = createApp(engine, { open: true })
const results = {}
for (const job of jobs) {
  const { id } = await engine.enqueue(job, { name: 'Ana' })
  await engine.wait({ job: id })
  const { state, result } = await (await app(new Request(`http://localhost/api/v1/jobs/${id}`))).json()
  const skipped = await engine.wait({ job: await engine.enqueue(job, { name: '' }) })
  results[job.kind] = [state, result, skipped.state]
}
console.log(JSON.stringify(results))
await engine.close()
