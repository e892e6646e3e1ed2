/** The most expensive requests that we know of, by who sends them. Bodies are made once: the sender must not use the processor. */
const megabyte = 1024 * 1024
const json = { 'content-type': 'application/json' }
const post = (path, text, headers = json) => ({ method: 'POST', path, headers, body: Buffer.from(text) })
const many = (n, text) => text.repeat(n).slice(0, -1)
const fields = n => Array.from({ length: n }, (_, i) => `"k${i}":${i}`).join(',')

export function worstOf(role, { large, wide, batch }) {
  if (role === 'stranger') return strangers()
  return role === 'viewer' ? viewers({ large, wide, batch }) : operators({ batch })
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
