/** The documents of a user are of this user: no route shows another user a document, nor that there is one. */
import { expect, test } from 'vitest'
import { goodPdf } from '../classifier/test/pdfs.ts'
import { documentsDoor } from './test/door.ts'

/** Ana has a document that is DONE and one that waits. Rui has none. */
async function twoUsers() {
  const t = await documentsDoor({ draw: async () => (await t.engine.files.put(['x'].map(Buffer.from), picture)).id })
  const token = async (user: string, role: 'operator' | 'admin') => (await t.engine.tokens.create({ user, role })).token
  const [ana, rui, admin] = [
    await token('ana', 'operator'),
    await token('rui', 'operator'),
    await token('adm', 'admin'),
  ]
  const secret = goodPdf('segredo da Ana')
  const done = (await t.upload(secret, { token: ana, name: 'segredo-de-ana.pdf' })).body.id
  await t.work()
  const waiting = (await t.upload(goodPdf('outro'), { token: ana, name: 'outro-de-ana.pdf' })).body.id
  return { ...t, ana, rui, admin, secret, ids: [done, waiting] as const }
}

const picture = { name: 'p.webp', type: 'image/webp' }
const nobodys = '01890000-0000-7000-8000-00000000dead'

test('every route with an id answers another user as if the document did not exist, and changes nothing', async () => {
  const t = await twoUsers()
  const routes = t.system.routes.filter(({ path }) => path.includes('{id}') && path.startsWith('/api/documents'))
  expect(routes.length).toBeGreaterThanOrEqual(6)
  const before = await t.engine.query(`select * from documents.documents order by id`)
  for (const { method, path } of routes) {
    const ask = async (id: string, token: string) => {
      const { status, body, headers } = await t.ask(method.toUpperCase(), path.replace('{id}', id), { token })
      const told = JSON.stringify(body).replaceAll(id, 'ID')
      return { status, told, names: [...headers.keys()] }
    }
    const unknown = await ask(nobodys, t.rui)
    expect(unknown.status, `${method} ${path}`).toBe(404)
    expect(unknown.names, `${method} ${path}`).toContain('content-length')
    for (const id of t.ids) expect(await ask(id, t.rui), `${method} ${path}`).toEqual(unknown)
  }
  expect((await t.engine.query(`select * from documents.documents order by id`)).rows).toEqual(before.rows)
  for (const { path } of routes.filter(({ method }) => method === 'get'))
    for (const token of [t.ana, t.admin])
      expect((await t.ask('GET', path.replace('{id}', t.ids[0]), { token })).status, path).toBe(200)
})

test('lists, searches, duplicates, keys, limits and ids tell another user nothing', async () => {
  const t = await twoUsers()
  const list = async (token: string, query = '') => (await t.ask('GET', `/api/documents${query}`, { token })).body
  for (const query of ['', '?q=segredo', '?q=ana', '?status=DONE', `?after=${t.ids[1]}`])
    expect(await list(t.rui, query), query).toEqual({ items: [], next: null })
  expect((await list(t.ana)).items).toHaveLength(2)
  expect((await list(t.ana, '?q=segredo')).items).toHaveLength(1)

  const headers = { 'idempotency-key': 'same' }
  const hers = await t.upload(t.secret, { token: t.ana, headers })
  const his = await t.upload(t.secret, { token: t.rui, headers })
  expect(hers.body).toMatchObject({ duplicate_of: t.ids[0] })
  // The same bytes and the same key of another user: no hint, and a document of his own.
  expect(his.body).toEqual({ id: his.body.id, status: 'PENDING', duplicate_of: null })
  expect(his.body.id).not.toBe(hers.body.id)
  expect(his.headers.get('ratelimit-remaining')).toBe('9')
  expect(Number(hers.headers.get('ratelimit-remaining'))).toBeLessThan(9)
  await t.work()
  expect((await list(t.rui)).items).toMatchObject([{ id: his.body.id, user: 'rui', duplicate_of: null }])
  const all = (await list(t.admin)).items as { user: string }[]
  expect(all.map(({ user }) => user).sort()).toEqual(['ana', 'ana', 'ana', 'rui'])
  // An id does not count documents: two of one user are not neighbours.
  const random = [t.ids[0], t.ids[1]].map(id => BigInt(`0x${id.replaceAll('-', '').slice(20)}`))
  expect(random[0]! - random[1]!).not.toBe(1n)
  expect(random[1]! - random[0]!).not.toBe(1n)
})

test('the engine shows the jobs of documents to an admin alone; jobs, events and statistics name no file, no user and no text', async () => {
  const t = await twoUsers()
  await t.upload('no pdf', { token: t.ana })
  const jobsOf = async (token: string) =>
    (await t.ask('GET', '/api/v1/jobs?kind=process-document', { token })).body.items as { id: string }[]
  const jobs = await jobsOf(t.admin)
  expect(jobs).toHaveLength(2)
  for (const token of [t.ana, t.rui]) expect(await jobsOf(token)).toEqual([])
  for (const { id } of jobs)
    expect((await t.ask('POST', `/api/v1/jobs/${id}/cancel`, { token: t.rui })).status).toBe(404)
  const paths = [
    '/api/v1/jobs',
    ...jobs.map(({ id }) => `/api/v1/jobs/${id}`),
    '/api/v1/stats',
    '/api/v1/queues',
    '/metrics',
    '/api/v1/guards',
  ]
  for (const path of paths) {
    const { status, body } = await t.ask('GET', path, { token: t.admin })
    expect(status, path).toBe(200)
    expect(JSON.stringify(body), path).not.toMatch(/segredo|ana\b|outro/i)
  }
  const { rows } = await t.engine.query(`select data::text as data from retoma.event`)
  expect(JSON.stringify(rows)).not.toMatch(/segredo|ana\b|outro/i)
})

test('on a server without tokens each user sees the documents of this user', async () => {
  const t = await documentsDoor()
  const id = await t.send({ user: 'ana' })
  expect((await t.read(id, { user: 'ana' })).status).toBe('PENDING')
  for (const user of ['rui', 'local', 'ANA']) expect((await t.as(user, 'GET', `/api/documents/${id}`)).status).toBe(404)
  expect((await t.ask('GET', `/api/documents/${id}`)).status).toBe(404)
  const { token } = await t.engine.tokens.create({ user: 'rui', role: 'viewer' })
  // Once a token exists, the header names nobody.
  const forged = await t.ask('GET', `/api/documents/${id}`, { token, headers: { 'x-user-id': 'ana' } })
  expect(forged.status).toBe(404)
})
