/**
 * The relay as a small server: RETOMA_NOTIFY_URL=http://localhost:3100/, and the same RETOMA_NOTIFY_SECRET on both sides.
 * CHAT=slack CHAT_URL=https://hooks.slack.com/services/… RETOMA_NOTIFY_SECRET=… npm start
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { relay } from './relay.ts'

const { CHAT = 'slack', CHAT_URL, CHAT_ID, RETOMA_NOTIFY_SECRET, PORT = '3100' } = process.env
if (!CHAT_URL || !RETOMA_NOTIFY_SECRET) throw new Error('set CHAT_URL and RETOMA_NOTIFY_SECRET')
const options = {
  secret: RETOMA_NOTIFY_SECRET,
  to: CHAT as 'slack' | 'discord' | 'telegram',
  chat: { url: CHAT_URL, ...(CHAT_ID ? { chatId: CHAT_ID } : {}) },
}

const server = createServer(async (incoming, outgoing) => {
  try {
    const body = incoming.method === 'POST' ? await text(incoming) : ''
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
    const answer = await relay(new Request('http://relay/', { method: 'POST', headers, body }), options)
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end()
  } catch {
    outgoing.writeHead(502).end() // the chat is out of reach: Retoma tries again
  }
})
server.listen(Number(PORT), () =>
  console.log(`relaying to ${CHAT} on port ${(server.address() as { port: number }).port}`),
)
