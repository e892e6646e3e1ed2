/**
 * Relays Retoma's webhook to a chat: checks the signature, and posts the sentence in the format of Slack, Discord or
 * Telegram. A fetch handler, for Node, a route of your app or an edge host with node:crypto.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookNotice } from 'retoma'

export interface Chat {
  /** The address of an incoming webhook; of a Telegram bot https://api.telegram.org/botTOKEN/sendMessage. */
  url: string
  /** Telegram only: the receiver. */
  chatId?: string
}

const marks: Record<WebhookNotice['severity'], string> = { critical: '🔴', warning: '🟡', info: '🟢' }
const textOf = ({ severity, sentence, link }: WebhookNotice) =>
  `${marks[severity]} ${sentence}${link === null ? '' : `\n${link}`}`

const forms = {
  slack: (notice: WebhookNotice) => ({ text: textOf(notice) }),
  discord: (notice: WebhookNotice) => ({ content: textOf(notice).slice(0, 2000), allowed_mentions: { parse: [] } }),
  telegram: (notice: WebhookNotice, { chatId }: Chat) => ({ chat_id: chatId, text: textOf(notice).slice(0, 4096) }),
}

/** Retoma signs `time.body`. Five minutes allow for differences between clocks and limit a replay. */
function isOurs(request: Request, body: string, secret: string, now: number): boolean {
  const time = request.headers.get('x-retoma-timestamp') ?? ''
  if (!(Math.abs(now / 1000 - Number(time)) <= 300)) return false
  const wanted = Buffer.from(`v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`)
  const given = Buffer.from(request.headers.get('x-retoma-signature') ?? '')
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

export async function relay(
  request: Request,
  { secret, to, chat }: { secret: string; to: keyof typeof forms; chat: Chat },
): Promise<Response> {
  const body = await request.text()
  if (!isOurs(request, body, secret, Date.now())) return new Response('not signed by Retoma', { status: 401 })
  const answer = await fetch(chat.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(forms[to](JSON.parse(body), chat)),
    signal: AbortSignal.timeout(8000),
  })
  // Passes the chat's answer to Retoma: Retoma waits after a 429 and tries again after a 500.
  const retryAfter = answer.headers.get('retry-after')
  return new Response(null, {
    status: answer.status,
    ...(retryAfter === null ? {} : { headers: { 'retry-after': retryAfter } }),
  })
}
