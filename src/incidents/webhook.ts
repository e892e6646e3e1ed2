/**
 * Posts a notice to the webhook, signed, within ten seconds. Redirects are not followed, and only the head of the response is
 * read: the status decides.
 *
 * Invariant: errors, answers and logs contain neither the address nor the secret; an address may itself be secret.
 */
import { createHmac } from 'node:crypto'
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'
import type { LookupFunction } from 'node:net'
import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type Duration, seconds } from '../lib/values/duration.ts'
import { version } from '../version.ts'
import type { WebhookNotice } from './model/notice.ts'

/** The receiver of notices. */
export interface Webhook {
  /** An http or https address. */
  url: string
  /** Signs the notice (HMAC-SHA256). Default: unsigned. */
  secret?: string | undefined
  /** The addresses of the host, which the caller has resolved and checked: the notice goes to one of them. Default: resolved at each post. */
  addresses?: readonly { address: string; family: number }[] | undefined
}

export interface WebhookResponse {
  status: number
  retryAfter: string | undefined
  ms: number
}

const deadline: Duration = seconds(10)

/** `v1=` and the HMAC-SHA256 of `time.body`, in hexadecimal. */
const signatureOf = (secret: string, time: string, body: string): string =>
  `v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`

/** `id` is the same at every attempt. Throws `notify_failed` if no response came. */
export async function postNotice(
  { url, secret, addresses }: Webhook,
  notice: WebhookNotice,
  id: string,
  { clock, signal }: { clock: Clock; signal?: AbortSignal },
): Promise<WebhookResponse> {
  const { event, severity, sentence, link, facts } = notice
  // Field order for readers; jsonb returns another order.
  const body = JSON.stringify({ event, severity, sentence, link, facts })
  const time = String(Math.floor(clock.now().getTime() / 1000))
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `retoma/${version}`,
    'x-retoma-delivery': id,
    'x-retoma-timestamp': time,
    ...(secret === undefined ? {} : { 'x-retoma-signature': signatureOf(secret, time, body) }),
  }
  const over = new AbortController()
  const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
  const begun = clock.elapsed()
  const answered = exchange({ url, addresses }, headers, body, either)
  const late = clock.sleep(deadline, over.signal).then((): never => {
    throw failed(localized(`no answer within ${deadline / 1000} s`, `sem resposta em ${deadline / 1000} s`))
  })
  late.catch(() => {})
  try {
    const { status, retryAfter } = await Promise.race([answered, late])
    return { status, retryAfter, ms: Math.round(clock.elapsed() - begun) }
  } finally {
    over.abort()
    answered.catch(() => {})
  }
}

function exchange(
  { url, addresses }: Webhook,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<Omit<WebhookResponse, 'ms'>> {
  return new Promise((resolve, reject) => {
    const to = new URL(url)
    const send = to.protocol === 'https:' ? secure : plain
    // No shared agent: the webhook is used only a few times a day.
    const lookup = addresses === undefined ? {} : { lookup: lookupIn(addresses) }
    const sent = send(to, { method: 'POST', headers, agent: false, signal, ...lookup }, answer => {
      answer.on('error', () => {})
      resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] })
      answer.destroy()
    })
    sent.on('error', error => reject(failed(troubleOf(error))))
    sent.end(body)
  })
}

/** Answers with the addresses for any name; a host that is an address itself needs no lookup. */
function lookupIn(addresses: NonNullable<Webhook['addresses']>): LookupFunction {
  const [first] = addresses
  return (_, { all }, done) => {
    if (first === undefined) done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
    else if (all) done(null, [...addresses])
    else done(null, first.address, first.family)
  }
}

const failed = (problem: LocalizedText) => new RetomaError('notify_failed', { problem })

/** Only the code: the message of such an error contains the host. */
function troubleOf(error: Error): LocalizedText {
  const { code } = error as { code?: unknown }
  const reason = typeof code === 'string' ? code : 'unknown'
  return localized(`it could not be reached (${reason})`, `não foi possível chegar a ele (${reason})`)
}

/** The receiver answered with a status that does not accept the notice. */
export const refusedBy = (status: number): RetomaError =>
  failed(localized(`it answered with status ${status}`, `ele respondeu com o status ${status}`))
