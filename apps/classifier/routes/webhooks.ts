/** Reads the webhook of an execution from a request: as fields of JSON, or of a form. */
import { localized, RetomaError } from 'retoma'
import { isWebhookAddress, type Webhook } from 'retoma/http'
import { z } from 'zod'
import { isLinkLocalHost } from '../link-local.ts'

const longestUrl = 2000
const longestSecret = 200

export const webhookFields = {
  webhook_url: z
    .string()
    .max(longestUrl)
    .optional()
    .meta({ description: 'an http or https address that gets a signed message at the end of the execution' }),
  webhook_segredo: z
    .string()
    .min(1)
    .max(longestSecret)
    .optional()
    .meta({ description: 'signs the message (HMAC-SHA256); never shown again' }),
}

/** null: the request names no webhook. Throws bad_request. */
export function webhookOf(given: {
  webhook_url?: string | undefined
  webhook_segredo?: string | undefined
}): Webhook | null {
  const { webhook_url: url, webhook_segredo: secret } = given
  if (url === undefined) return null
  if (!isWebhookAddress(url) || url.length > longestUrl) throw notAnAddress
  if (isLinkLocalHost(new URL(url).hostname)) throw linkLocal
  if (secret !== undefined && secret.length > longestSecret) throw longSecret
  return { url, secret }
}

const linkLocal = new RetomaError('bad_request', {
  field: 'webhook_url',
  problem: localized(
    'it leads to the machine itself or to its cloud (a link-local address)',
    'leva à própria máquina ou à nuvem dela (endereço link-local)',
  ),
})

const longSecret = new RetomaError('bad_request', {
  field: 'webhook_segredo',
  problem: localized(`it has at most ${longestSecret} characters`, `tem no máximo ${longestSecret} caracteres`),
})

const notAnAddress = new RetomaError('bad_request', {
  field: 'webhook_url',
  problem: localized('it is an http or https address', 'é um endereço http ou https'),
})

/** The same from the fields of a form, where an empty field is absent. */
export const webhookIn = (fields: ReadonlyMap<string, string>): Webhook | null =>
  webhookOf({
    webhook_url: fields.get('webhook_url')?.trim() || undefined,
    webhook_segredo: fields.get('webhook_segredo') || undefined,
  })
