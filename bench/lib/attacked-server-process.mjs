/**
 * Serves the API with all five systems, as `retoma serve` does: tokens of a viewer and an operator, a batch, large jobs, a full execution
 * and its rerun, a full batch of quotes, long documents, and a route that takes files. No worker runs.
 */
import { classifier } from '@retoma/classifier'
import { documents } from '@retoma/documents'
import { planner } from '@retoma/planner'
import { quotes } from '@retoma/quotes'
import { snaps } from '@retoma/snaps'
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

const systems = [classifier(), quotes(), documents(), snaps(), planner()]
const engine = await createEngine({ databaseUrl: url, jobs: [noop], batches: [letters], systems })
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
const server = await listen(createApp(engine, { routes: [files], systems }), '127.0.0.1', 0)

/** Creates a resource through the API, as the operator. */
async function create(path, body) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operator}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()).id
}

const categorias = Array.from({ length: 100 }, (_, n) => `categoria ${n}`.padEnd(100, 'x'))
let project
for (let n = 0; n < 500; n++)
  project = await create('/projetos', { nome: `projeto ${n}`, categorias, instrucoes: 'x'.repeat(20_000) })
const execution = await create('/execucoes', {
  projeto_id: project,
  documentos: Array.from({ length: 2000 }, (_, n) => ({ codigo: `d${n}`, texto: `${n} ${'palavra '.repeat(1500)}` })),
})
const rerun = await create(`/execucoes/${execution}/nova`, {})
const quoteBatch = await create('/api/quotes/batch', {
  quotes: Array.from({ length: 10_000 }, (_, n) => ({ description: `notebook ${n} ${'x'.repeat(200)}` })),
})
const longDocuments = `
  insert into documents.documents
    (id, user_id, filename, size, sha256, file_id, status, job_id, text, text_complete, search, created_at, updated_at)
  select gen_random_uuid(), $1, n || '.pdf', 1, sha256(n::text::bytea), 0, 'DONE', 0, words, true, to_tsvector('simple', words), now(), now()
  from generate_series(1, $2::int) n, lateral (select repeat('contrato de aluguel ' || n || ' ', 500) as words) as of`
await engine.query(longDocuments, ['viewer', Math.round(2000 * scale)])
const targets = { large: large[0], wide, batch: batch.id, project, execution, rerun, quoteBatch }
process.send({ port: server.port, viewer, operator, targets })
