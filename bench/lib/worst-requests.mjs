/** The most expensive known requests, by sender. Bodies are made once, because the sender must not use the processor. */
const megabyte = 1024 * 1024
const json = { 'content-type': 'application/json' }
const post = (path, text, headers = json) => ({ method: 'POST', path, headers, body: Buffer.from(text) })
const many = (n, text) => text.repeat(n).slice(0, -1)
const fields = n => Array.from({ length: n }, (_, i) => `"k${i}":${i}`).join(',')

export function worstOf(role, targets) {
  if (role === 'stranger') return strangers()
  return role === 'viewer'
    ? [...viewers(targets), ...viewersOfSystems(targets)]
    : [...operators(targets), ...operatorsOfSystems(targets)]
}

const strangers = () => [
  post('/api/v1/login', `{"token":"${'x'.repeat(400)}"}`),
  post('/api/v1/login', `[${many(megabyte, '[],')}]`),
  post('/api/v1/login', `{${fields(300)}}`),
  post('/api/v1/jobs', `[${many(5 * megabyte, '[],')}]`),
  post('/files', 'x'.repeat(16 * megabyte), { 'content-type': 'multipart/form-data; boundary=b' }),
  { path: '/api/v1/jobs', headers: { authorization: `Bearer${' '.repeat(14_000)}x` } },
  { path: '/api/v1/jobs', headers: { authorization: `Bearer ${'x'.repeat(14_000)}` } },
  { path: '/api/v1/jobs', headers: { cookie: `${'retoma_session=x;'.repeat(800)}` } },
  post('/execucoes', `{"projeto_id":1,"documentos":[${many(megabyte, '[],')}]}`),
  post('/api/quotes/batch', `{"quotes":[${many(megabyte, '{},')}]}`),
  post('/api/snaps', 'x'.repeat(4 * megabyte), { 'content-type': 'image/png' }),
  { path: '/', headers: { 'accept-language': 'en;q=0.1,'.repeat(1500) } },
  { path: `/${'a/'.repeat(7000)}` },
  { path: `/ready?${'a=1&'.repeat(3500)}` },
  { path: '/ready' },
  { path: '/api/docs.css' },
  { method: 'OPTIONS', path: '/api/v1/jobs' },
  { method: 'HEAD', path: '/' },
  { path: '/health', headers: Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`x-${n}`, 'y'.repeat(20)])) },
]

const viewers = ({ large, wide, batch }) => [
  { path: '/api/v1/jobs?limit=500' },
  { path: `/api/v1/jobs/${large}` },
  { path: `/api/v1/jobs/${wide}` },
  { path: '/api/v1/jobs?limit=500&kind=noop&ref=none&state=cancelled' },
  { path: `/api/v1/batches/${batch}/items?limit=500` },
  { path: `/api/v1/batches/${batch}/items?limit=500&state=cancelled` },
  { path: `/api/v1/batches/${batch}/explain` },
  { path: `/api/v1/batches/${batch}/failures/causes` },
  { path: `/api/v1/jobs/${large}/explain` },
  { path: '/metrics' },
  { path: '/api/openapi.json' },
  { path: '/api/docs' },
  { path: '/api/v1/queues' },
  { path: '/api/v1/queues/default/explain' },
  { path: '/api/v1/stats' },
  { path: '/api/v1/events', forMs: 500 },
  { path: `/api/v1/batches/${batch}/events`, forMs: 500 },
  { path: `/api/v1/jobs?${'kind=a&'.repeat(2000)}` },
  { method: 'HEAD', path: `/api/v1/jobs/${large}` },
]

const part = n => `--b\r\nContent-Disposition: form-data; name="file"; filename="${n}.txt"\r\n\r\nx\r\n`

const operators = ({ batch }) => [
  post('/api/v1/batches', `{"name":"letters","items":[],"refs":[${many(500_000, '1,')}]}`),
  post('/api/v1/batches', `{"name":"letters","items":[${many(5 * megabyte, '[],')}]}`),
  post('/api/v1/batches', `{"name":"letters","items":[{${fields(190_000)}}],"odd":1}`),
  post('/api/v1/batches', `{"name":"none","items":[${many(140_000, '{"n":1},')}]}`),
  post('/api/v1/batches', `{${fields(190_000)}}`),
  post('/api/v1/batches', `${'['.repeat(60)}${many(megabyte, '1,')}`),
  post('/api/v1/jobs', `{"kind":"noop","input":{${fields(190_000)}},"run_at":"2100-01-01T00:00:00Z"}`),
  post('/api/v1/jobs', `{"kind":"noop","input":"${'x'.repeat(7 * megabyte)}","run_at":"2100-01-01T00:00:00Z"}`),
  post('/api/v1/jobs', `[${many(9000, '{"kind":"noop","input":{"n":1},"run_at":"2100-01-01T00:00:00Z"},')}]`),
  post('/api/v1/jobs', `[${many(9000, '{"kind":"noop","priority":99,"key_until":"x"},')}]`),
  post('/api/v1/jobs', `{"kind":"noop","input":"${'x'.repeat(15 * megabyte)}"}`, { ...json, 'idempotency-key': 'k' }),
  post('/files', `${Array.from({ length: 2000 }, (_, n) => part(n)).join('')}--b--\r\n`, {
    'content-type': 'multipart/form-data; boundary=b',
  }),
  post('/files', `--b\r\n${'X: y\r\n'.repeat(200_000)}`, { 'content-type': 'multipart/form-data; boundary=b' }),
  post(`/api/v1/batches/${batch}/retry-failed`, `{"cause":"${'0'.repeat(60_000)}"}`),
]

const viewersOfSystems = ({ project, execution, rerun, quoteBatch }) => [
  { path: '/projetos?limit=500' },
  { path: '/execucoes?limit=500' },
  { path: `/execucoes/${execution}/documentos?limit=500` },
  { path: `/execucoes/${execution}/documentos?limit=500&busca=nenhuma` },
  { path: `/execucoes/${execution}/resultados?limit=500&busca=palavra` },
  { path: `/execucoes/${execution}/resultados.csv` },
  { path: `/execucoes/${execution}/resultados.xlsx` },
  { path: `/execucoes/${execution}/comparar/${rerun}?limit=500` },
  { path: `/execucoes/${execution}/categorias` },
  { path: `/execucoes/${execution}/erros?limit=500` },
  { path: `/execucoes/${execution}/status-detalhado` },
  { path: `/execucoes/${execution}/prompt?codigo=d1` },
  { path: `/execucoes/${execution}/eventos`, forMs: 500 },
  post(`/execucoes/${execution}/estimativa`, '{}'),
  post(`/projetos/${project}/estimativa`, `{"documentos":[${many(2000, '{"nome":"a.txt","bytes":1000},')}]}`),
  { path: `/projetos/${project}/precisao` },
  { path: '/api/quotes?limit=500' },
  { path: '/api/quotes?limit=500&status=DONE' },
  { path: `/api/quotes?limit=500&batch_id=${quoteBatch}` },
  { path: `/api/quotes/batch/${quoteBatch}/results.csv` },
  { path: `/api/quotes/batch/${quoteBatch}/events`, forMs: 500 },
  { path: `/api/system/batch-status/${quoteBatch}` },
  { path: '/api/system/processing-stats' },
  { path: '/api/system/stuck-quotes?limit=500' },
  { path: '/api/documents?limit=500' },
  { path: '/api/documents?limit=500&q=contrato' },
  { path: `/api/documents?limit=500&q=${encodeURIComponent('"de aluguel" '.repeat(15))}` },
  { path: '/api/open-finance/transactions?limit=500' },
  { path: '/api/open-finance/totals' },
  { path: '/api/snaps?limit=500' },
  { path: '/api/planner/jobs?limit=500' },
]

const person = n => ({
  name: `person ${n}`,
  skills: Array.from({ length: 50 }, (_, skill) => `skill ${skill}`),
  days_off: Array.from({ length: 28 }, (_, day) => `2026-01-${String(day + 1).padStart(2, '0')}`),
})

const form = { 'content-type': 'multipart/form-data; boundary=b' }
const upload = (path, field, name, bytes) =>
  post(
    path,
    `--b\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n\r\n${bytes}\r\n--b--\r\n`,
    form,
  )

/** Most are refused after the whole body was read: a proof must not fill the disk. */
const operatorsOfSystems = ({ project, execution }) => [
  post('/execucoes', `{"projeto_id":999999,"documentos":[{"codigo":"a","texto":"${'x'.repeat(31 * megabyte)}"}]}`),
  post(
    '/execucoes',
    `{"projeto_id":999999,"documentos":[${many(1999, `{"codigo":"a","texto":"${'x'.repeat(16_000)}"},`)}]}`,
  ),
  post('/execucoes', `{"projeto_id":${project},"documentos":[${many(1999, '{"codigo":"same","texto":"text"},')}]}`),
  post('/execucoes', `{"projeto_id":${project},"documentos":[${many(megabyte, '[],')}]}`),
  upload('/execucoes', 'arquivos', 'a.txt', 'x'.repeat(16 * megabyte)),
  post(`/execucoes/${execution}/nova`, `{"codigos":[${many(2000, `"${'x'.repeat(400)}",`)}]}`),
  post(`/execucoes/${execution}/aceitar`, `{"codigos":[${many(2000, `"${'x'.repeat(400)}",`)}]}`),
  post('/projetos', `{"nome":"p","categorias":[${many(100, `"${'x'.repeat(100)}",`)}]}`),
  post('/api/quotes/batch', `{"quotes":[${many(9999, `{"description":"${'x'.repeat(3000)}"},`)},{}]}`),
  post('/api/quotes/batch', `{"quotes":[${many(9999, '{"description":"notebook i5"},')}]}`),
  post('/api/quotes/batch', `{"quotes":[${many(5 * megabyte, '{},')}]}`),
  post(
    '/api/planner/generate-schedule',
    JSON.stringify({ people: Array.from({ length: 500 }, (_, n) => person(n)), shifts: [], demand: [] }),
  ),
  post('/api/planner/generate-schedule', `{"people":[],"shifts":[],"demand":[{"skills":{${fields(80_000)}}}]}`),
  upload('/api/planner/extract-demand', 'other', 'a.csv', 'x;y\n'.repeat(2 * megabyte)),
  upload('/api/planner/generate-thumbnail', 'file', 'a.png', 'x'.repeat(megabyte)),
  upload('/api/documents', 'file', 'a.pdf', 'x'.repeat(16 * megabyte)),
  post('/api/snaps', 'x'.repeat(megabyte), { 'content-type': 'image/png' }),
  post('/api/open-finance/sync', '{}'),
]
