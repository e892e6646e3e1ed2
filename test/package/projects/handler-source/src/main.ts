import { createEngine } from 'retoma'
import { inline, inProcess, thread } from './jobs.js'

const jobs = [inline, thread, inProcess]
await using engine = await createEngine({ jobs })
await engine.work()
for (const job of jobs) {
  const { greeting, file } = await (await engine.enqueue(job, { name: 'Ana' })).result()
  const skipped = await engine.wait({ job: await engine.enqueue(job, { name: '' }) })
  console.log(`${job.kind}: ${greeting} from ${file}, ${skipped.state}`)
}
