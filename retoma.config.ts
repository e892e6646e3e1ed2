/** What `npm start` in a clone runs; try: npm run -s retoma -- jobs enqueue hello '{"name":"Ana"}' --wait */
import { classifier } from '@retoma/classifier'
import { documents } from '@retoma/documents'
import { planner } from '@retoma/planner'
import { quotes } from '@retoma/quotes'
import { snaps } from '@retoma/snaps'
import { defineConfig, defineJob } from 'retoma'

const hello = defineJob({
  kind: 'hello',
  run: async (ctx, input: { name: string }) => {
    ctx.log.info({ name: input.name }, 'greeting')
    return { greeting: `Hello, ${input.name}!` }
  },
})

export default defineConfig({ jobs: [hello], systems: [classifier(), quotes(), documents(), snaps(), planner()] })
