/** Reads the options of the notice webhook from the settings. */
import { isIPv6 } from 'node:net'
import type { NotifyOptions } from '../engine/create-engine.ts'
import type { Settings } from '../settings/index.ts'

/** Undefined: no notices are sent. */
export function notifyOf(settings: Settings): NotifyOptions | undefined {
  const { RETOMA_NOTIFY_URL: url, RETOMA_NOTIFY_SECRET: secret, RETOMA_NOTIFY_LANGUAGE: language } = settings
  if (url === undefined) return undefined
  const { PUBLIC_URL, HOST, PORT } = settings
  const link = PUBLIC_URL ?? `http://${isIPv6(HOST) ? `[${HOST}]` : HOST}:${PORT}`
  return { url, secret, link, language }
}
