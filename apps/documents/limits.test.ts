/** Ten requests per user in any minute: uploads and reprocesses together. Lists and downloads are free. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { seconds } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { documentsDoor } from './test/door.ts'

/** The window of Upstash for each key, as its script keeps it: the engine sends the instant, because its clock is virtual. */
async function upstashServer() {
  const windows = new Map<string, number[]>()
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const [, , , key = '', limit, per, more, now] = JSON.parse(Buffer.concat(pieces).toString()) as string[]
    const live = (windows.get(key) ?? []).filter(at => at > Number(now) - Number(per))
    const isGranted = live.length + 1 <= Number(limit)
    if (isGranted && Number(more) > 0) live.push(Number(now))
    windows.set(key, live)
    const frees = live.length === 0 ? -1 : Math.ceil((live[0]! + Number(per) - Number(now)) / 1000)
    response.end(JSON.stringify({ result: [isGranted ? 1 : 0, live.length, frees] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const bursts = {
  PostgreSQL: async () => ({}),
  Upstash: async () => {
    const { url } = await upstashServer()
    // A busy machine may take longer than the second that an answer may take; PostgreSQL would answer then.
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
    return { rateLimits: { url, token: 'token-of-a-test' } }
  },
}

test.each(Object.keys(bursts) as (keyof typeof bursts)[])(
  'one user sends 30 uploads and 10 reprocesses in a minute: 10 of 40 pass, the rest are 429 with the right second (%s)',
  async where => {
    const t = await documentsDoor({}, await bursts[where]())
    const id = await t.send({ user: 'ana' })
    await t.work()
    await t.clock.advance(seconds(61))
    const statuses = async (count: number, ask: () => Promise<{ status: number; headers: Headers; body: unknown }>) =>
      Promise.all(Array.from({ length: count }, ask))
    const upload = () => t.upload('%PDF-1.7\n%%EOF', { user: 'ana' })
    const reprocess = () => t.as('ana', 'POST', `/api/documents/${id}/reprocess`)
    const all = (await Promise.all([statuses(30, upload), statuses(10, reprocess)])).flat()
    const passed = all.filter(({ status }) => status === 202)
    const refused = all.filter(({ status }) => status === 429)
    expect([passed.length, refused.length]).toEqual([10, 30])
    expect(new Set(refused.map(({ headers }) => headers.get('retry-after')))).toEqual(new Set(['60']))
    expect(refused[0]!.body).toMatchObject({
      error: { code: 'rate_limited', message: expect.stringMatching(/tente de novo em 60 s/) },
    })

    await t.clock.advance(seconds(17))
    expect((await upload()).headers.get('retry-after')).toBe('43')
    for (const path of ['', `/${id}`, `/${id}/download`])
      expect((await t.as('ana', 'GET', `/api/documents${path}`)).status).toBe(200)
    expect((await t.upload('%PDF-1.7\n%%EOF', { user: 'rui' })).headers.get('ratelimit-remaining')).toBe('9')
    await t.clock.advance(seconds(43))
    expect((await upload()).status).toBe(202)
  },
)

test('a refused file counts as well, and an erasure does not', async () => {
  const t = await documentsDoor()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    ids.push(await t.send({ user: 'ana' }))
    expect((await t.upload('no pdf', { user: 'ana' })).status).toBe(415)
  }
  expect((await t.upload('no pdf', { user: 'ana' })).status).toBe(429)
  for (const id of ids) expect((await t.as('ana', 'DELETE', `/api/documents/${id}`)).status).toBe(204)
})
