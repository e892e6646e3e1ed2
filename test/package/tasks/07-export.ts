/** A job for the tests of deploys and crashes, and the process that works on it: `node 07-export.js`. */
import { fileURLToPath } from 'node:url'
import { createEngine, defineJob, seconds } from 'retoma'

export const exportJob = defineJob({
  kind: 'export',
  orphanAfter: seconds(15),
  run: async ctx => {
    const preparedBy = await ctx.step('prepare', () => process.pid)
    if (process.env.HANGS) {
      console.log('started')
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    }
    return { preparedBy, finishedBy: process.pid }
  },
})

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const engine = await createEngine({ jobs: [exportJob] })
  await engine.work({ signals: true })
}
