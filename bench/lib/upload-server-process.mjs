/** The API as in `retoma serve`, with an upload route which keeps files for a job, and a download route. */

import { z } from 'zod'
import { createApp, download, route } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, defineJob } from '../../dist/index.js'

const { url, largestFile, mostFiles } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const noop = defineJob({ kind: 'noop', run: () => null })
const about = { tag: 'proof', summary: 'for the proof', role: 'operator' }

const take = route({
  ...about,
  method: 'post',
  path: '/files',
  name: 'takeFiles',
  upload: { files: ['file'], mostFiles, largestFile },
  async run({ engine, upload }) {
    const files = []
    for await (const { file } of upload) {
      const { id, sha256 } = await engine.files.put(file.bytes, { name: file.name, type: file.type })
      files.push({ id, sha256 })
    }
    await engine.transaction(async tx => {
      const { id } = await engine.enqueue(noop, undefined, { tx })
      await engine.files.keep(
        files.map(each => each.id),
        { job: id, tx },
      )
    })
    return { files }
  },
})
const give = route({
  ...about,
  method: 'get',
  path: '/files/{id}',
  name: 'giveFile',
  params: z.object({ id: z.string() }),
  answers: 'application/octet-stream',
  run: async ({ engine, params }) => download(await engine.files.open(params.id)),
})

const engine = await createEngine({ databaseUrl: url, jobs: [noop] })
engine.watch()
const server = await listen(createApp(engine, { routes: [take, give] }), '127.0.0.1', 0)
process.send({ port: server.port })
