/**
 * The recipes for chats: a notice of `retoma notify test` arrives in the format of each chat, and no other request
 * arrives.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { noticeOf } from '../src/incidents/model/notice.ts'
import { postNotice } from '../src/incidents/webhook.ts'
import { systemClock } from '../src/lib/clock.ts'
import { relay } from './notify/relay.ts'

const secret = 'whsec-0123456789abcdef'
const notice = noticeOf(
  {
    event: 'queue.starved',
    subject: 'queue:mail',
    since: '2030-01-01T12:00:00.000Z',
    facts: { queue: 'mail', jobs: 3, kinds: ['send'] },
  },
  { language: 'pt', link: 'https://retoma.example.com' },
)

async function serve(answer: (body: unknown, headers: Headers) => Promise<Response> | Response): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await json(request)
    const given = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)])
    const answered = await answer(body, new Headers(given))
    response.writeHead(answered.status, Object.fromEntries(answered.headers)).end()
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test.each([
  ['slack', { text: expect.stringMatching(/^🔴 Fila mail: 3 jobs prontos[\s\S]*\nhttps:\/\/retoma/) }],
  ['discord', { content: expect.stringContaining('Fila mail'), allowed_mentions: { parse: [] } }],
  ['telegram', { chat_id: '42', text: expect.stringContaining('Fila mail') }],
] as const)('a notice comes to %s in its own form', async (to, form) => {
  const heard: unknown[] = []
  const chat = await serve(body => {
    heard.push(body)
    return new Response(null, { status: 200 })
  })
  const url = await serve((body, headers) =>
    relay(new Request('http://relay/', { method: 'POST', headers, body: JSON.stringify(body) }), {
      secret,
      to,
      chat: { url: chat, chatId: '42' },
    }),
  )
  expect(await postNotice({ url, secret }, notice, '1', { clock: systemClock })).toMatchObject({ status: 200 })
  expect(heard).toEqual([form])
  expect(await postNotice({ url, secret: 'another' }, notice, '1', { clock: systemClock })).toMatchObject({
    status: 401,
  })
  expect(await postNotice({ url }, notice, '1', { clock: systemClock })).toMatchObject({ status: 401 })
  expect(heard).toHaveLength(1)
})

test('that a chat asks for time comes through', async () => {
  const chat = await serve(() => new Response(null, { status: 429, headers: { 'retry-after': '7' } }))
  const url = await serve((body, headers) =>
    relay(new Request('http://relay/', { method: 'POST', headers, body: JSON.stringify(body) }), {
      secret,
      to: 'slack',
      chat: { url: chat },
    }),
  )
  expect(await postNotice({ url, secret }, notice, '1', { clock: systemClock })).toMatchObject({
    status: 429,
    retryAfter: '7',
  })
})
