/** The API as `retoma serve` has it, with tokens of a viewer and an operator, a batch, large jobs and a route that takes files. */
import { createApp, route } from '../../dist/http/index.js'
import { listen } from '../../dist/http/server.js'
import { createEngine, defineBatch, defineJob } from '../../dist/index.js'

const { url, scale } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit())
const noop = defineJob({ kind: 'noop', run: () => null })
const letters = defineBatch({ name: 'letters', job: noop })
const files = route({
  method: 'post',
  path: '/files',
  name: 'takeFiles',
  tag: 'proof',
  summary: 'for the proof',
  role: 'operator',
  upload: { fields: ['title'], files: ['file'], mostFiles: 2000, largestFile: 1024 },
  async run({ upload }) {
    let n = 0
    for await (const { file } of upload)
      if (file !== undefined) for await (const { byteLength } of file.bytes) n += byteLength
    return { n }
  },
})

const engine = await createEngine({ databaseUrl: url, jobs: [noop], batches: [letters] })
engine.watch()
const [viewer, operator] = await Promise.all(
  ['viewer', 'operator'].map(async role => (await engine.tokens.create({ user: role, role })).token),
)
const large = []
for (let n = 0; n < 68; n++) large.push((await engine.enqueue(noop, { pad: 'x'.repeat(8_000_000) })).id)
const keys = Object.fromEntries(Array.from({ length: 190_000 }, (_, n) => [`key ${n}`, n]))
const wide = (await engine.enqueue(noop, keys)).id
const batch = await engine.submit(
  letters,
  Array.from({ length: Math.round(100_000 * scale) }, (_, n) => ({ n })),
)
const server = await listen(createApp(engine, { routes: [files] }), '127.0.0.1', 0)
process.send({ port: server.port, viewer, operator, large: large[0], wide, batch: batch.id })
