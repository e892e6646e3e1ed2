/** Ten requests per user in any minute: uploads and reprocesses together. Lists and downloads are free. */
import { seconds } from 'retoma'
import { expect, test, vi } from 'vitest'
import { hasRedis, startUpstash, upstashToken } from '../../test/support/upstash.ts'
import { documentsDoor } from './test/door.ts'

const bursts = {
  PostgreSQL: async () => ({}),
  Upstash: async () => {
    const { url } = await startUpstash()
    // A busy machine may take longer than the second that an answer may take; PostgreSQL would answer then.
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal)
    return { rateLimits: { url, token: upstashToken } }
  },
}

/** The window of Upstash is a script in Redis: only a real Redis runs the script. */
const places = (Object.keys(bursts) as (keyof typeof bursts)[]).filter(where => where !== 'Upstash' || hasRedis)

test.each(places)(
  'one user sends 30 uploads, 10 reprocesses and 20 syncs at once: 10 of 40 and 10 of 20 pass, the rest are 429 with the right second (%s)',
  async where => {
    const t = await documentsDoor({}, await bursts[where]())
    const id = await t.send({ user: 'ana' })
    await t.work()
    await t.clock.advance(seconds(61))
    const statuses = async (count: number, ask: () => Promise<{ status: number; headers: Headers; body: unknown }>) =>
      Promise.all(Array.from({ length: count }, ask))
    const upload = () => t.upload('%PDF-1.7\n%%EOF', { user: 'ana' })
    const reprocess = () => t.as('ana', 'POST', `/api/documents/${id}/reprocess`)
    const sync = () => t.as('ana', 'POST', '/api/open-finance/sync')
    const [uploads, reprocesses, syncs] = await Promise.all([
      statuses(30, upload),
      statuses(10, reprocess),
      statuses(20, sync),
    ])
    const all = [...uploads, ...reprocesses]
    expect(syncs.filter(({ status }) => status === 202)).toHaveLength(10)
    const refusedSyncs = syncs.filter(({ status }) => status === 429)
    expect(refusedSyncs.map(({ headers }) => headers.get('retry-after'))).toEqual(
      Array.from({ length: 10 }, () => '60'),
    )
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
